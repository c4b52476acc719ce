extension Array {
    /// Puts an element in a place that is vacant, or at the end; says where.
    mutating func put(_ element: Element, in vacant: inout [Int]) -> Int {
        guard let place = vacant.popLast() else {
            append(element)
            return count - 1
        }
        self[place] = element
        return place
    }
}
