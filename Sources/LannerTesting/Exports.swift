// The loopback server is a fake like the others here: one import gives them all.
@_exported import LannerLoopback
