import LannerCore

/// Statuses and the ways between them, as a picture.
struct Diagram {
    struct Point {
        var x: Double
        var y: Double
    }

    var title: String
    var caption: String
    var places: [Status: Point]
    var moves: Set<Move>
    var starts: [Status]
    /// How far a way swings to its right, where a straight one would cross a box.
    var bends: [Move: Double] = [:]

    private static let size = Point(x: 820, y: 480)
    private static let half = Point(x: 56, y: 19)

    /// As SVG, the same text every time.
    var svg: String {
        let reached = moves.reachable(from: starts)
        let drawn = Status.allCases.filter { places[$0] != nil }
        let ways = drawn.flatMap { from in drawn.map { Move(from: from, to: $0) } }.filter(moves.contains)
        let boxes = drawn.flatMap { box($0, isReached: reached.contains($0)) }
        let note = Point(x: Self.size.x / 2, y: Self.size.y - 14)
        let lines = [head] + starts.compactMap(entry) + ways.compactMap(way) + boxes
        return (lines + [Self.text(caption, "note", note), "</svg>\n"]).joined(separator: "\n")
    }

    private var head: String {
        """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Self.size.x.short) \(Self.size.y.short)" role="img">
        <title>\(title)</title>
        \(Style.text)
        """
    }

    // MARK: Boxes

    private func box(_ status: Status, isReached: Bool) -> [String] {
        guard let place = places[status] else { return [] }
        let kind = !isReached ? "never" : status.isAtRest ? "rest" : "busy"
        let corner = place - Self.half
        return [
            "<rect class=\"\(kind)\" x=\"\(corner.x.short)\" y=\"\(corner.y.short)\" "
                + "width=\"\((2 * Self.half.x).short)\" height=\"\((2 * Self.half.y).short)\" rx=\"8\"/>",
            Self.text(status.rawValue, kind, place),
        ]
    }

    private static func text(_ text: String, _ kind: String, _ place: Point) -> String {
        "<text class=\"\(kind)\" x=\"\(place.x.short)\" y=\"\((place.y + 5).short)\">\(text)</text>"
    }

    // MARK: Ways

    /// From a dot at the left.
    private func entry(_ status: Status) -> String? {
        guard let place = places[status] else { return nil }
        let dot = Point(x: place.x - Self.half.x - 36, y: place.y)
        let tip = Point(x: place.x - Self.half.x - 2, y: place.y)
        return "<circle cx=\"\(dot.x.short)\" cy=\"\(dot.y.short)\" r=\"5\"/>\n"
            + "<path class=\"way\" d=\"M\(dot.short)L\(tip.short)\"/>"
    }

    /// Straight, beside the way back where there is one, unless it has to swing.
    private func way(_ move: Move) -> String? {
        guard let from = places[move.from], let to = places[move.to] else { return nil }
        let right = (to - from).turned
        let hasWayBack = moves.contains(Move(from: move.to, to: move.from))
        let aside = right * (hasWayBack ? 7 : 0)
        let middle = (from + to) * 0.5 + right * (2 * (bends[move] ?? 0)) + aside
        let begin = Self.edge(of: from, from: from + aside, toward: middle, gap: 0)
        let end = Self.edge(of: to, from: to + aside, toward: middle, gap: 2)
        let isOut = move.to == .willCancel || move.to == .willRemove
        let line = bends[move] == nil ? "L\(end.short)" : "Q\(middle.short) \(end.short)"
        return "<path class=\"\(isOut ? "out" : "way")\" d=\"M\(begin.short)\(line)\"/>"
    }

    /// Where a line that begins in a box leaves it.
    private static func edge(of box: Point, from start: Point, toward end: Point, gap: Double) -> Point {
        let way = end - start
        let across = way.x == 0 ? .infinity : ((way.x > 0 ? half.x : -half.x) + box.x - start.x) / way.x
        let down = way.y == 0 ? .infinity : ((way.y > 0 ? half.y : -half.y) + box.y - start.y) / way.y
        return start + way * min(across, down) + way.unit * gap
    }
}

extension Diagram.Point {
    static func + (one: Self, other: Self) -> Self { Self(x: one.x + other.x, y: one.y + other.y) }
    static func - (one: Self, other: Self) -> Self { Self(x: one.x - other.x, y: one.y - other.y) }
    static func * (point: Self, factor: Double) -> Self { Self(x: point.x * factor, y: point.y * factor) }

    fileprivate var unit: Self { self * (1 / (x * x + y * y).squareRoot()) }
    /// Of length one, to the right of this direction.
    fileprivate var turned: Self { Self(x: -unit.y, y: unit.x) }
    fileprivate var short: String { "\(x.short) \(y.short)" }
}

extension Double {
    /// With one digit at most, so that no platform rounds otherwise.
    fileprivate var short: String {
        let tenths = Int((self * 10).rounded())
        let text = "\(abs(tenths) / 10)" + (tenths % 10 == 0 ? "" : ".\(abs(tenths) % 10)")
        return tenths < 0 ? "-" + text : text
    }
}

/// How diagrams look, on light and dark ground.
private enum Style {
    static let text = """
        <style>
        text { font: 14px system-ui, sans-serif; fill: #1f2328; text-anchor: middle; }
        text.note { font-size: 12px; fill: #59636e; }
        text.never { fill: #818b98; }
        rect { fill: #ffffff; stroke: #59636e; stroke-width: 1.5; }
        rect.rest { fill: #ddf4ff; }
        rect.never { fill: url(#hatch); stroke: #c8d1da; }
        path { fill: none; stroke-width: 1.5; }
        .way { stroke: #59636e; marker-end: url(#tip); }
        .out { stroke: #b7bfc8; marker-end: url(#outtip); }
        .tip, circle { fill: #59636e; }
        .outtip { fill: #b7bfc8; }
        .hatch { stroke: #d1d9e0; }
        @media (prefers-color-scheme: dark) {
        text { fill: #f0f6fc; }
        text.note { fill: #9198a1; }
        rect { fill: #0d1117; stroke: #9198a1; }
        rect.rest { fill: #12365f; }
        rect.never { stroke: #3d444d; }
        .way { stroke: #9198a1; }
        .out { stroke: #545c66; }
        .tip, circle { fill: #9198a1; }
        .outtip { fill: #545c66; }
        .hatch { stroke: #3d444d; }
        }
        </style>
        <defs>
        <marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">
        <path class="tip" d="M0 1L10 5L0 9z"/></marker>
        <marker id="outtip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">
        <path class="outtip" d="M0 1L10 5L0 9z"/></marker>
        <pattern id="hatch" width="8" height="8" patternUnits="userSpaceOnUse">
        <path class="hatch" d="M0 8L8 0"/></pattern>
        </defs>
        """
}
