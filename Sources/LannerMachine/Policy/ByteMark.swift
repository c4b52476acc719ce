/// So many bytes at a time.
package struct ByteMark: Sendable, Equatable {
    package var time: Duration
    package var bytes: Int64
}
