import Foundation
import Lanner

// The Swift code of the README, word for word and compiled. `SnippetTests` compares the two.

func quickStart() {
    // snippet: quick start
    let manager = SessionManager("podcasts")

    manager.download("https://example.com/episode.mp3")?
        .progress { task in print(task.progress.fractionCompleted, task.speedString) }
        .success { task in print("saved to \(task.filePath)") }
        .failure { task in print("stopped:", task.error ?? task.status) }
    // end
}

func awaiting(_ manager: SessionManager) async throws {
    // snippet: async
    let sha256 = try Checksum.Digest(parsing: "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae")
    guard let task = manager.download("https://example.com/archive.zip", checksum: sha256) else { return }
    for await event in task.events {
        if case .restarted(let reason) = event { print("bytes given up:", reason) }
        if case .status(let status) = event, status.isAtRest { break }
    }
    print("saved to", try await task.file.path)  // alone, too; throws why there is none; canceled, it suspends
    // end
}
