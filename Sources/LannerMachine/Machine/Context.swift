/// What downloads may look at and add to while they handle an event.
struct Context: Sendable {
    var now = Duration.zero
    /// The time of day since 1970.
    var wallSeconds: Int64 = 0
    var settings: Settings
    /// How many connections the download may use that handles the event.
    var connections = 1
    /// Whether the event is the refusal of a host that sends other downloads meanwhile, or has just done so.
    var isCrowd = false
    /// Whether no other download runs, and whether the one that handles the event had a file refused because too many are
    /// open.
    var (isAlone, lacksFiles) = (true, false)
    /// Whether there is a network that may be used, as far as is known.
    var isNetworkAvailable = true
    /// Whether somebody tells when that changes.
    var isNetworkWatched = false
    var random: SeededGenerator
    /// What is to be done because of the event, in order.
    var actions: [Action] = []
    private var lastExchange: ExchangeNumber = 0
    /// How many downloads have yet to come to rest for a ticket.
    private var tickets: [Ticket: Int] = [:]

    init(settings: Settings, seed: UInt64) {
        self.settings = settings
        random = SeededGenerator(seed: seed)
    }

    mutating func makeExchangeNumber() -> ExchangeNumber {
        lastExchange += 1
        return lastExchange
    }

    /// Whether an event was of no interest any more, after so many earlier actions.
    func hasIgnored(since earlier: Int) -> Bool {
        actions[earlier...].contains { if case .ignored = $0 { true } else { false } }
    }

    /// Has a ticket answered when so many downloads have come to rest.
    mutating func expect(_ count: Int, for ticket: Ticket) {
        if count > 0 { tickets[ticket] = count } else { actions.append(.answer(ticket)) }
    }

    /// One of the downloads of a ticket has come to rest; with the last the ticket is answered.
    mutating func answer(_ ticket: Ticket) {
        guard let open = tickets[ticket] else { return }
        tickets[ticket] = open > 1 ? open - 1 : nil
        if open == 1 { actions.append(.answer(ticket)) }
    }
}
