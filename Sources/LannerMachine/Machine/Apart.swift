/// A large value that most do not have: who has none only has room for a pointer. Each change makes a new copy.
@propertyWrapper @usableFromInline
package struct Apart<Value: Sendable>: Sendable {
    @usableFromInline
    final class Box: Sendable {
        @usableFromInline let value: Value

        @inlinable
        init(_ value: Value) {
            self.value = value
        }
    }

    @usableFromInline var box: Box?

    @inlinable
    package init(wrappedValue: Value?) {
        if let wrappedValue { box = Box(wrappedValue) }
    }

    @inlinable package var wrappedValue: Value? {
        get { box?.value }
        set { if let newValue { box = Box(newValue) } else { box = nil } }
    }

    /// To have the same value in another place, without a copy.
    @inlinable package var projectedValue: Self {
        get { self }
        set { self = newValue }
    }
}

extension Apart: Equatable where Value: Equatable {
    @inlinable
    package static func == (one: Self, other: Self) -> Bool {
        one.box === other.box || one.wrappedValue == other.wrappedValue
    }
}

extension Apart: Hashable where Value: Hashable {
    @inlinable
    package func hash(into hasher: inout Hasher) {
        hasher.combine(wrappedValue)
    }
}
