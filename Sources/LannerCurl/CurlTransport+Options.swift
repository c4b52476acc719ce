extension CurlTransport {
    /// What may be chosen.
    public struct Options: Sendable, Hashable {
        /// How many connections to one host and port there may be at once; more exchanges wait for one. Nil for any
        /// number. Of plain HTTP through an HTTP proxy, the proxy is the host. libcurl has one line for all who wait, so
        /// that those of one host may hold up those of others that wait, too. The manager takes those that wait for
        /// silent: they may fail by `timeoutIntervalForRequest` though their server was never asked. To have fewer at
        /// once, set `SessionConfiguration.maxConcurrentTasksPerHost` instead. What is less than 1 counts as 1.
        public var connectionsPerHost: Int?
        /// How many connections there may be at once in all; more exchanges wait for one. Nil for any number. The
        /// manager takes those that wait for silent: they may fail by `timeoutIntervalForRequest` though their server
        /// was never asked. To have fewer at once, set `SessionConfiguration.maxConcurrentTasksLimit` instead. What is less
        /// than 1 counts as 1.
        public var connections: Int?
        /// Sent as `User-Agent` by requests that have none.
        public var userAgent: String
        /// A file with the certificates of the authorities that are trusted (PEM), in the place of the system's. The
        /// libcurl of macOS trusts the system's as well (curl issue 12604): there, only ``pinnedPublicKey`` keeps others
        /// out.
        public var certificateAuthorities: String?
        /// Who we are, for servers that ask.
        public var clientCertificate: ClientCertificate?
        /// The only public keys that servers may have, besides a valid certificate: `sha256//` and the digest in base64,
        /// several separated by semicolons; or the path of a file with the key (PEM or DER). None is asked over http then,
        /// whoever has led there: `TransportFault.secureConnectionFailed`.
        public var pinnedPublicKey: String?
        /// Through what requests go. Of the header fields of a request `Proxy-Authorization` goes to an HTTP proxy, and to
        /// nobody else.
        public var proxy: Proxy

        /// Makes options.
        public init(
            connectionsPerHost: Int? = nil, connections: Int? = nil, userAgent: String = "Lanner/0.1",
            certificateAuthorities: String? = nil, clientCertificate: ClientCertificate? = nil,
            pinnedPublicKey: String? = nil, proxy: Proxy = .environment
        ) {
            self.connectionsPerHost = connectionsPerHost
            self.connections = connections
            self.userAgent = userAgent
            self.certificateAuthorities = certificateAuthorities
            self.clientCertificate = clientCertificate
            self.pinnedPublicKey = pinnedPublicKey
            self.proxy = proxy
        }
    }

    /// A certificate and its private key, in files (PEM).
    public struct ClientCertificate: Sendable, Hashable {
        /// The path of the certificate.
        public var certificate: String
        /// The path of the key; nil where it is in the same file.
        public var key: String?
        /// What the key is encrypted with.
        public var password: String?

        /// Makes a pair.
        public init(certificate: String, key: String? = nil, password: String? = nil) {
            self.certificate = certificate
            self.key = key
            self.password = password
        }
    }

    /// Through what requests go.
    public enum Proxy: Sendable, Hashable {
        /// What the variables `http_proxy`, `https_proxy`, `ALL_PROXY` and `no_proxy` say.
        case environment
        /// Nothing, whatever the environment says.
        case none
        /// A proxy's URL (http, https, socks4, socks4a, socks5, socks5h), and what to log in with: at an HTTP proxy
        /// by Basic, so that the password can be read on the way to it unless it is https. Whatever the environment
        /// says; an empty URL is refused.
        case url(String, user: String? = nil, password: String? = nil)
    }
}
