// swift-tools-version: 6.1
import PackageDescription

// The privacy manifest, included only when building on macOS; elsewhere it would end up as a directory next to programs.
#if os(macOS)
let (privacyManifest, excluded): ([Resource], [String]) = ([.copy("PrivacyInfo.xcprivacy")], [])
#else
let (privacyManifest, excluded): ([Resource], [String]) = ([], ["PrivacyInfo.xcprivacy"])
#endif

let package = Package(
    name: "Lanner",
    platforms: [.macOS(.v13), .iOS(.v16), .tvOS(.v16), .watchOS(.v9)],
    products: [
        .library(name: "Lanner", targets: ["Lanner"]),
        .library(name: "LannerCore", targets: ["LannerCore"]),
        .library(name: "LannerCurl", targets: ["LannerCurl"]),
        .library(name: "LannerTesting", targets: ["LannerTesting"]),
        .executable(name: "lanner", targets: ["LannerCLI"]),
    ],
    targets: [
        // Decides; imports nothing.
        .target(name: "LannerMachine"),
        // The SHA and CRC instructions of processors, which Swift does not reach.
        .target(name: "CLannerSHA"),
        // Calls to the system's disks, which Swift does not reach.
        .target(name: "CLannerDisk"),
        // Carries out what the machine decided; Foundation, never FoundationNetworking.
        .target(
            name: "LannerCore", dependencies: ["CLannerDisk", "CLannerSHA", "LannerMachine"], exclude: excluded,
            resources: privacyManifest),
        // The default transport; the only target that imports FoundationNetworking.
        .target(name: "LannerURLSession", dependencies: ["LannerCore"]),
        // A transport over libcurl, which is loaded at run time: no header of it, no linker flag.
        .target(name: "CLannerCurl"),
        .target(name: "LannerCurl", dependencies: ["CLannerCurl", "LannerCore"]),
        // What applications import.
        .target(name: "Lanner", dependencies: ["LannerURLSession"]),
        // A small HTTP server on the loopback interface, for LannerTesting and `lanner demo`.
        .target(name: "LannerLoopback"),
        // Fakes for tests of code that downloads.
        .target(name: "LannerTesting", dependencies: ["LannerCore", "LannerLoopback"]),
        .executableTarget(name: "LannerCLI", dependencies: ["Lanner", "LannerCurl", "LannerLoopback"]),
        .testTarget(name: "LannerMachineTests", dependencies: ["LannerMachine"]),
        .testTarget(name: "LannerCoreTests", dependencies: ["LannerCore", "LannerMachine", "LannerTesting"]),
        // What a user's environment must not change about tests: in the process of all of them.
        .target(name: "TestEnvironment", path: "Tests/TestEnvironment"),
        // Runs the built program, for LannerCLITests and InteropTests.
        .target(
            name: "ProgramSupport", dependencies: ["LannerCore", "TestEnvironment"], path: "Tests/ProgramSupport"),
        .testTarget(name: "LannerCLITests", dependencies: ["LannerCLI", "LannerLoopback", "ProgramSupport"]),
        .testTarget(name: "LannerLoopbackTests", dependencies: ["LannerLoopback"]),
        // Follows the exchanges of a transport, for the three targets after it.
        .target(
            name: "TransportSupport", dependencies: ["LannerCore", "TestEnvironment"], path: "Tests/TransportSupport"),
        .testTarget(
            name: "LannerURLSessionTests",
            dependencies: ["LannerURLSession", "LannerLoopback", "LannerCore", "TransportSupport"]),
        .testTarget(
            name: "LannerCurlTests", dependencies: ["LannerCurl", "LannerLoopback", "LannerCore", "TransportSupport"]),
        .testTarget(
            name: "TransportTests",
            dependencies: ["LannerCurl", "LannerURLSession", "LannerLoopback", "LannerCore", "TransportSupport"]),
        // What the fuzzer tries (`Tests/Fuzz`), here on the inputs that are kept.
        .testTarget(name: "FuzzTests", dependencies: ["LannerCLI", "LannerCurl", "LannerTesting", "LannerURLSession"]),
        .testTarget(
            name: "InteropTests",
            dependencies: [
                "Lanner", "LannerCLI", "LannerCurl", "LannerLoopback", "ProgramSupport", "TransportSupport",
            ]),
        // The contracts of LannerTesting over every implementation there is.
        .testTarget(name: "ContractTests", dependencies: ["Lanner", "LannerCurl", "LannerTesting"]),
        // Code as applications have it: outside the package's own access, with their own use of common names.
        .target(name: "ClientModel", path: "Tests/ClientModel", packageAccess: false),
        .testTarget(
            name: "ClientCodeTests", dependencies: ["Lanner", "LannerTesting", "ClientModel"], packageAccess: false),
        // A small app and its tests, as users of LannerTesting write them.
        .testTarget(name: "SampleAppTests", dependencies: ["Lanner", "LannerTesting"], packageAccess: false),
        // What the texts of Tiercel show, in the language mode of its users.
        .testTarget(
            name: "SeedSampleTests", dependencies: ["Lanner", "LannerTesting"], packageAccess: false,
            swiftSettings: [.swiftLanguageMode(.v5)]),
        .testTarget(name: "DocumentationTests", dependencies: ["Lanner", "LannerCurl", "LannerTesting"]),
        .testTarget(name: "SimulationTests", dependencies: ["LannerTesting", "LannerCore", "LannerMachine"]),
        // Runs the simulated worlds of LannerTesting.
        .executableTarget(
            name: "lanner-sim", dependencies: ["LannerTesting", "LannerMachine"], path: "Tests/Simulator"),
        .executableTarget(name: "LinkageProbe", dependencies: ["LannerCore"], path: "Tests/LinkageProbe"),
        .testTarget(name: "LinkageTests", dependencies: ["LinkageProbe"]),
    ],
    swiftLanguageModes: [.v6]
)

// What the thread sanitizer is run on (`.ci/run`): most of the time that its build takes goes into tests of one thread, and
// into what only these need.
if Context.environment["LANNER_CONCURRENT"] != nil {
    let concurrent = ["LannerCoreTests", "LannerCurlTests", "LannerURLSessionTests", "TransportTests"]
    let programs = ["ClientModel", "LannerCLI", "LinkageProbe", "ProgramSupport", "lanner-sim"]
    package.products.removeAll { $0.name == "lanner" }
    package.targets.removeAll { $0.type == .test && !concurrent.contains($0.name) || programs.contains($0.name) }
    // Those that take longest for what one thread does, on a bench or on none.
    package.targets.first { $0.name == "LannerCoreTests" }?.exclude = [
        "Checksum/HasherTests", "Engine/ControlTests", "Engine/DiskTests", "Engine/NetworkTests",
        "Engine/RecordTests", "Engine/RelaunchTests", "Engine/ResumeDataTests",
        "Engine/StatusTests", "Engine/UpdateTests", "Features/BackgroundTests", "Features/BatchCostTests",
        "Features/ComplaintTests", "Features/ConnectionFeatureTests", "Features/ContextTests",
        "Features/HostFeatureTests", "Features/LeftoverTests", "Features/LimitFeatureTests",
        "Features/ListFeatureTests", "Limits/ThrottleTests", "MemoryDisk/DurableNamesTests", "Names/ConflictTests",
        "PartialFile/PartialFileModelTests", "Storage/StoreCrashTests", "Storage/StoreDamageTests",
        "Transport/DestinationTests",
    ].map { $0 + ".swift" }
    package.targets.first { $0.name == "LannerTesting" }?.exclude = ["Contracts", "Simulation"]
}
