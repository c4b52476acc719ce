/// A large value that most do not have: who has none only has room for a pointer. Each change makes a new copy.
@propertyWrapper
package struct Apart<Value: Sendable>: Sendable {
    private final class Box: Sendable {
        let value: Value

        init(_ value: Value) {
            self.value = value
        }
    }

    private var box: Box?

    package init(wrappedValue: Value?) {
        box = wrappedValue.map(Box.init)
    }

    package var wrappedValue: Value? {
        get { box?.value }
        set { box = newValue.map(Box.init) }
    }
}

extension Apart: Equatable where Value: Equatable {
    package static func == (one: Self, other: Self) -> Bool {
        one.box === other.box || one.wrappedValue == other.wrappedValue
    }
}

extension Apart: Hashable where Value: Hashable {
    package func hash(into hasher: inout Hasher) {
        hasher.combine(wrappedValue)
    }
}
