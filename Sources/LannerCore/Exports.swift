// The few public values that the deciding part and this library share (header fields, failures, policies).
@_exported import LannerMachine
