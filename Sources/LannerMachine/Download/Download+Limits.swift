// What a download makes of limits on bandwidth. The engine keeps them; here they say how much is asked for at once, and
// when silence is no fault.

extension Download {
    /// The engine holds an exchange back up to a time, before its request or within its answer. A time that has come
    /// takes an earlier word back.
    mutating func heldBack(_ number: ExchangeNumber, until time: Duration, _ context: inout Context) {
        switch state {
        case .opening(var opening):
            guard case .request(var exchange) = opening.step, exchange.number == number else {
                return ignore(.unknownExchange(number), &context)
            }
            exchange.begun = time
            opening.step = .request(exchange)
            state = .opening(opening)
        case .transferring(var transfer):
            guard let index = transfer.exchanges.firstIndex(where: { $0.number == number }) else {
                return ignore(.unknownExchange(number), &context)
            }
            if !transfer.exchanges[index].isAccepted { transfer.exchanges[index].begun = time }
            // As long as nothing else is known it is a limit that keeps bytes away, not a burst.
            transfer.heldShare = transfer.heldShare ?? 256
            transfer.heldUntil = time
            // What comes in the meantime says nothing of the server.
            transfer.speedMark = ByteMark(time: time, bytes: transfer.arrived)
            state = .transferring(transfer)
        case .waiting, .pausing, .verifying, .publishing, .suspended, .failed, .succeeded:
            ignore(.late("heldBack"), &context)
        }
    }

    /// How much one exchange is asked for: of slices no more than comes in a quarter of a second, so that what cannot be
    /// held back any more is little.
    func delivery(_ settings: Settings) -> Settings.Delivery {
        guard case .sliced(let lengths, let inFlight) = settings.delivery,
            let limit = [rateLimit, settings.rateLimit].compactMap({ $0 }).min()
        else { return settings.delivery }
        let longest = min(lengths.upperBound, max(Pace.leastSlice, limit / 4))
        return .sliced(min(lengths.lowerBound, longest)...longest, inFlight: inFlight)
    }
}
