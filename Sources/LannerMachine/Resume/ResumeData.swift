/// What a transport that goes on by its own means has left of an exchange that broke off. Kept with the record.
package struct ResumeData: Sendable, Hashable {
    /// Opaque to all but the transport.
    package var bytes: [UInt8]
    /// How much of the file they stand for.
    package var held: Int64

    package init(_ bytes: [UInt8], held: Int64) {
        self.bytes = bytes
        self.held = held
    }
}

extension DownloadFailure.Reason {
    /// Whether an exchange that was given resume data and failed so before its answer may owe that to the data: they
    /// name files that may be gone by now. Else it failed on its way, and the data are as good as before.
    var maySpeakOfResumeData: Bool {
        switch self {
        case .transport(let fault): fault.maySpeakOfResumeData
        // A status that may pass says nothing of the data; another one does: the data lead to where the file once was.
        case .status: !isWorthRetrying
        // They need room like all others.
        case .disk: false
        case .unusableResponse, .redirect, .link, .checksumMismatch, .store: true
        }
    }
}

extension TransportFault {
    fileprivate var maySpeakOfResumeData: Bool {
        switch self {
        case .timedOut, .connectionLost, .cannotConnect, .cannotFindHost, .notConnected: false  // The network did.
        case .networkNotAllowed, .secureConnectionFailed: false  // The data are not looked at before.
        case .diskFull: false
        case .malformedResponse, .lengthMismatch, .unacceptableRequest: true  // What was asked, or came, is no good.
        case .canceled, .unavailable, .other: true  // URLSession has no better words for data that it cannot read.
        }
    }
}
