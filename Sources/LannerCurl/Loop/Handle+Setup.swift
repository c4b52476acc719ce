import CLannerCurl
import LannerCore

// What every transfer is told.

extension Handle {
    /// What is the same for all transfers of a transport.
    func prepare(_ options: CurlTransport.Options) {
        set(LANNER_CURL_HTTP_GET, 1)
        // Signals and their handlers belong to the program.
        set(LANNER_CURL_NO_SIGNAL, 1)
        keepFromChildren()
        decideNothing()
        secure(options)
        route(options.proxy)
    }

    /// What the manager decides, and what nobody asked for.
    private func decideNothing() {
        set(LANNER_CURL_FOLLOW_LOCATION, 0)
        set(LANNER_CURL_HTTP_CONTENT_DECODING, 0)
        // Unknown to a libcurl that does so anyway.
        ask(LANNER_CURL_NETRC, 0)
        set(LANNER_CURL_PATH_AS_IS, 1)
        set(LANNER_CURL_DISALLOW_USERNAME_IN_URL, 1)
        // And to one that knows no proxies.
        ask(LANNER_CURL_SUPPRESS_CONNECT_HEADERS, 1)
        ask(LANNER_CURL_HTTP09_ALLOWED, 0)
        // The text is of 7.85; the number, which it replaces, is a bit for each protocol.
        if !ask(LANNER_CURL_PROTOCOLS_TEXT, "http,https") { set(LANNER_CURL_PROTOCOLS, 0b11) }
        // Only then does the end of a transfer not wait for the resolver. Of 7.87.
        if Library.mayLeaveLookups { ask(LANNER_CURL_QUICK_EXIT, 1) }
        // In seconds. From 8.16 on libcurl keeps failures for half as long as addresses, and the retries are to ask anew;
        // of a host that has moved as well. Connections last longer anyway.
        set(LANNER_CURL_DNS_CACHE_TIME, 1)
        // HTTP/1.1 alone. Over HTTP/2 libcurl takes a body of unknown length that the server breaks off for a whole
        // one; of a connection that is shared it goes on reading in spite of a pause, up to whole files; and before 8.5
        // a request may be put on a busy connection of HTTP/1.1 where others of its host are of HTTP/2, and then bytes
        // go astray.
        set(LANNER_CURL_HTTP_VERSION, 2)
    }

    private func secure(_ options: CurlTransport.Options) {
        if let file = options.certificateAuthorities { trust(only: file) }
        set(LANNER_CURL_PINNED_PUBLIC_KEY, options.pinnedPublicKey)
        guard let own = options.clientCertificate else { return }
        set(LANNER_CURL_CLIENT_CERTIFICATE, own.certificate)
        set(LANNER_CURL_CLIENT_KEY, own.key ?? own.certificate)
        // Else who has to open an encrypted key would ask on the terminal, and all transfers wait for that.
        set(LANNER_CURL_KEY_PASSWORD, own.password ?? "")
    }

    /// libcurl looks into the system's directory besides, unless it is given another: the file is one in which nothing
    /// is found.
    private func trust(only file: String) {
        set(LANNER_CURL_CA_INFO, file)
        ask(LANNER_CURL_CA_DIRECTORY, file)
        // A libcurl that cannot speak TLS to proxies does not know them, and needs them not.
        ask(LANNER_CURL_PROXY_CA_INFO, file)
        ask(LANNER_CURL_PROXY_CA_DIRECTORY, file)
    }

    private func route(_ proxy: CurlTransport.Proxy) {
        switch proxy {
        case .environment: break
        case .none: set(LANNER_CURL_PROXY, "")
        case .url(let url, let user, let password):
            // An empty one would be none.
            if url.isEmpty { refuse(LANNER_CURL_PROXY) }
            set(LANNER_CURL_PROXY, url)
            // Whatever the environment says.
            set(LANNER_CURL_NO_PROXY, "")
            set(LANNER_CURL_PROXY_USER_NAME, user)
            set(LANNER_CURL_PROXY_PASSWORD, password)
            // Basic alone, for it needs no second request.
            set(LANNER_CURL_PROXY_AUTHENTICATION, 1)
        }
    }

    /// What is one transfer's own. One that is limited reads little at once.
    func aim(at address: WebAddress, within seconds: Int, isLimited: Bool) {
        set(LANNER_CURL_URL, address.text)
        set(LANNER_CURL_BUFFER_SIZE, isLimited ? Mailbox.least : Slab.size)
        set(LANNER_CURL_CONNECT_TIMEOUT_MS, seconds * 1000)
        // Else a long pause would be the end of it.
        guard Library.mayTimeSilence else { return }
        set(LANNER_CURL_LOW_SPEED_LIMIT, 1)
        // The manager watches for silence, too, and knows what is paused: it comes first, for libcurl would keep a
        // connection over which nothing comes for others.
        set(LANNER_CURL_LOW_SPEED_TIME, seconds + 1)
    }
}
