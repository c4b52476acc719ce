import LannerMachine
import Testing

@Suite("N-10: Content-Disposition") struct ContentDispositionTests {
    @Test(arguments: [
        ("attachment; filename=a.txt", "a.txt"), ("INLINE;FILENAME=a.txt", "a.txt"),
        ("form-data; filename=a.txt", "a.txt"), ("attachment; filename=\"a b.txt\"", "a b.txt"),
        ("attachment; filename=\"a;b=\\\"c\\\".txt\"; size=1", "a;b=\"c\".txt"),
        ("attachment; filename=\"a\\\\b\"", "a\\b"), ("attachment; filename=\"%41\"", "%41"),
        ("attachment; filename=\"../../etc/passwd\"", "../../etc/passwd"),
        ("attachment; size=3; filename=\"x\";;", "x"), ("attachment; filename=\"é.txt\"", "é.txt"),
        ("attachment; filename=\"日本.txt\"", "日本.txt"),
    ])
    func readsAName(_ value: String, _ name: String) {
        #expect(ContentDisposition(value)?.fileName == name)
    }

    /// The examples of RFC 6266, 5 and RFC 8187, 3.2.
    @Test(arguments: [
        ("attachment; filename=\"EURO rates\"; filename*=utf-8''%e2%82%ac%20rates", "€ rates"),
        ("attachment; filename*=UTF-8''%e2%82%ac%20rates; filename=\"EURO rates\"", "€ rates"),
        ("attachment; filename*=iso-8859-1'en'%A3%20rates", "£ rates"),
        ("attachment; filename*=UTF-8''%c2%a3%20and%20%e2%82%ac%20rates.txt", "£ and € rates.txt"),
        ("attachment; filename*=UTF-8''it's%20(1).txt", "it's (1).txt"),
        ("attachment; FileName*=utf-8''a%2Fb", "a/b"),
    ])
    func prefersAnExtendedName(_ value: String, _ name: String) {
        #expect(ContentDisposition(value)?.fileName == name)
    }

    /// Much that is sent is not as the grammar has it, and still means one thing.
    @Test(arguments: [
        ("attachment; filename = a b.txt ", "a b.txt"), ("attachment; filename", nil),
        ("attachment; filename=a; size", "a"), ("attachment; filename=\"naÃ¯ve.txt\"", "naïve.txt"),
        ("attachment; filename=\"A\u{C3}B\"", "A\u{C3}B"),
    ])
    func understandsWhatIsSent(_ value: String, _ name: String?) throws {
        #expect(try #require(ContentDisposition(value)).fileName == name)
    }

    @Test(arguments: [
        "*=UTF-8''%ff", "*=UTF-8''a%2", "*=UTF-8''%zz", "*=UTF-8'a", "*=UTF-8", "*=", "*=KOI8-R''%c1", "*=''a",
        "*=UTF-8''", "*=UTF-8''a b", "*=UTF-8''é", "*=\"UTF-8''b\"", "*=UTF-8''%", "*=UTF-8''a;filename*=UTF-8''a",
    ])
    func fallsBackToThePlainName(_ broken: String) {
        #expect(ContentDisposition("attachment; filename\(broken); filename=plain")?.fileName == "plain")
        #expect(ContentDisposition("attachment; filename=plain; filename\(broken)")?.fileName == "plain")
    }

    @Test(arguments: [
        "attachment", "attachment;", "attachment; filename=", "attachment; filename=\"\"", "attachment; xfilename=a",
        "attachment; filename=a; filename=a", "attachment; filename=\"a\"b", "attachment; filename=a\"b\"",
        "attachment; filename*0=a; filename*1=b", "attachment; \"filename=a\"",
    ])
    func namesNothing(_ value: String) throws {
        #expect(try #require(ContentDisposition(value)).fileName == nil)
    }

    @Test(arguments: [
        "", " ", ";", "filename=a", "filename=\"a\"", "two words; filename=a", "attachment, filename=a", "é; a=b",
        "attachment; filename=\"a", "attachment; filename=\"a\\\"", "attachment; filename=\"", "\"a\"",
    ])
    func isNothingWithoutATypeOrAnEnd(_ value: String) {
        #expect(ContentDisposition(value) == nil)
    }

    @Test func contradictingLinesAreNone() {
        let line = "attachment; filename=a"
        #expect(
            ContentDisposition(fields: ["Content-Disposition": line, "content-disposition": line])?.fileName == "a")
        #expect(ContentDisposition(fields: ["Content-Disposition": line, "content-disposition": "inline"]) == nil)
        #expect(ContentDisposition(fields: [:]) == nil)
    }
}
