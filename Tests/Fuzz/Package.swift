// swift-tools-version: 6.1
import PackageDescription

// The fuzzer, apart from the library so that users build none of it and the library's own manifest needs no unsafe
// flags. `Library` and `Targets` are links: the library's sources, built here once more with the fuzzer's and the
// address sanitizer's eyes in them, and what is tried on them, which the package's own tests build as well.
//
// Built optimized, because it has to be fast; for a short run the build takes longer, and `run -c debug` leaves that out.
// `-enable-testing` opens what is internal. The program `lanner` is a library here, without its entry point, so that its
// parsers can be reached.
// Needs a toolchain of swift.org; Xcode's has no libFuzzer.
let eyes = ["-sanitize=fuzzer,address"]
let open: [SwiftSetting] = [.unsafeFlags(["-enable-testing"])]
let watched: [SwiftSetting] = [.unsafeFlags(eyes)] + open

let package = Package(
    name: "Lanner",
    platforms: [.macOS(.v13)],
    targets: [
        .target(name: "LannerMachine", path: "Library/LannerMachine", swiftSettings: watched),
        .target(name: "CLannerDisk", path: "Library/CLannerDisk"),
        .target(name: "CLannerSHA", path: "Library/CLannerSHA"),
        .target(
            name: "LannerCore", dependencies: ["CLannerDisk", "CLannerSHA", "LannerMachine"],
            path: "Library/LannerCore", swiftSettings: watched),
        .target(
            name: "LannerURLSession", dependencies: ["LannerCore"], path: "Library/LannerURLSession",
            swiftSettings: watched),
        .target(name: "Lanner", dependencies: ["LannerURLSession"], path: "Library/Lanner", swiftSettings: watched),
        .target(name: "CLannerCurl", path: "Library/CLannerCurl"),
        .target(
            name: "LannerCurl", dependencies: ["CLannerCurl", "LannerCore"], path: "Library/LannerCurl",
            swiftSettings: watched),
        .target(name: "LannerLoopback", path: "Library/LannerLoopback", swiftSettings: watched),
        .target(
            name: "LannerTesting", dependencies: ["LannerCore", "LannerLoopback"], path: "Library/LannerTesting",
            // More than half of it, and nothing that is tried here.
            exclude: ["Contracts", "Simulation"], swiftSettings: open),
        .target(
            name: "LannerCLI", dependencies: ["Lanner", "LannerCurl", "LannerLoopback"], path: "Library/LannerCLI",
            exclude: ["Main.swift"], swiftSettings: watched),
        .target(
            name: "FuzzTargets", dependencies: ["LannerCLI", "LannerCurl", "LannerTesting", "LannerURLSession"],
            path: "Targets", swiftSettings: watched),
        .executableTarget(
            name: "lanner-fuzz", dependencies: ["FuzzTargets"], path: "Driver", swiftSettings: watched,
            // The fuzzer brings a `main` of its own, for programs that have none; gold stumbles over the second one.
            linkerSettings: [.unsafeFlags(eyes), .unsafeFlags(["-use-ld=lld"], .when(platforms: [.linux]))]),
    ],
    swiftLanguageModes: [.v6]
)
