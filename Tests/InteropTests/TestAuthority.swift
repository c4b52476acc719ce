#if os(macOS) || os(Linux)
import Foundation
import LannerCore
import ProgramSupport

/// A certificate authority of a test's own, which only those trust who are told of it.
final class TestAuthority {
    /// A certificate and its private key, in files (PEM).
    struct Identity {
        var certificate: String
        var key: String
    }

    private let directory: URL
    private var count = 0

    /// Whether a test with certificates is to be run: `openssl` is installed, or its absence is a failure.
    static var isThere: Bool { RealServer.isThere(.nginx) && RealServer.isThere("openssl") }

    init() throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("lanner-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try openssl(
            ["req", "-x509"] + Self.newKey("authority.key") + ["-subj", "/CN=authority", "-days", "2"], certificate)
    }

    deinit {
        try? FileManager.default.removeItem(at: directory)
    }

    /// The authority's own certificate.
    var certificate: String { path("authority.pem") }

    /// Certifies a new key for an address, as openssl writes it: `IP:127.0.0.1`. With less than no days the certificate has
    /// expired.
    func identity(_ name: String = "IP:127.0.0.1", days: Int = 2) throws -> Identity {
        count += 1
        let (key, request, certificate) = (path("\(count).key"), path("\(count).csr"), path("\(count).pem"))
        try openssl(["req"] + Self.newKey("\(count).key") + ["-subj", "/CN=\(count)"], request)
        let extensions = path("\(count).ext")
        try "subjectAltName=\(name)\n".write(toFile: extensions, atomically: true, encoding: .utf8)
        try openssl(
            ["x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", path("authority.key")]
                + ["-set_serial", "\(count)", "-days", "\(days)", "-extfile", extensions], certificate)
        return Identity(certificate: certificate, key: key)
    }

    /// The same key, which is of no use without the password.
    func locked(_ identity: Identity, password: String) throws -> Identity {
        let key = identity.key + ".locked"
        try openssl(["pkey", "-in", identity.key, "-aes256", "-passout", "pass:\(password)"], key)
        return Identity(certificate: identity.certificate, key: key)
    }

    /// The public key, as it is pinned.
    func pin(_ identity: Identity) throws -> String {
        let file = identity.key + ".public"
        try openssl(["pkey", "-in", identity.key, "-pubout", "-outform", "DER"], file)
        let digest = try Checksum.digest(ofFileAt: file, algorithm: .sha256)
        return "sha256//" + Data(digest.bytes).base64EncodedString()
    }

    private static func newKey(_ name: String) -> [String] {
        ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", name]
    }

    private func path(_ name: String) -> String { directory.appendingPathComponent(name).path }

    /// Runs openssl, which writes a file.
    private func openssl(_ arguments: [String], _ output: String) throws {
        guard let executable = RealServer.executable("openssl") else {
            throw RealServer.Failed(description: "openssl is not installed")
        }
        _ = try ChildProcess(executable.path, arguments + ["-out", output], in: directory.path).wait()
        guard FileManager.default.fileExists(atPath: output) else {
            throw RealServer.Failed(description: "openssl \(arguments.joined(separator: " ")) has failed")
        }
    }
}
#endif
