// swift-tools-version: 6.1
import PackageDescription

// Measurements, apart from the library so that users build none of them. One executable for each subject.
let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v13)],
    dependencies: [
        .package(name: "Lanner", path: "../..")
    ],
    targets: [
        .executableTarget(name: "hash-bench", dependencies: [.product(name: "LannerCore", package: "Lanner")]),
        // Figures and their bounds.
        .target(name: "Figures"),
        .executableTarget(
            name: "control-bench",
            dependencies: [
                "Figures", .product(name: "LannerCore", package: "Lanner"),
                .product(name: "LannerCurl", package: "Lanner"), .product(name: "LannerTesting", package: "Lanner"),
            ]),
        .executableTarget(
            name: "scale-bench",
            dependencies: [
                "Figures", .product(name: "LannerCore", package: "Lanner"),
                .product(name: "LannerTesting", package: "Lanner"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
