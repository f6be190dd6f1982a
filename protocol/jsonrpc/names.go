package jsonrpc

// nameSet is a set of the member names in the params or the result of a decoded message. It has one
// bit for each name, which several names may share. The set avoids most searches for a member that
// is absent. The zero names means that the members are unknown.
type nameSet uint64

// known is set in all names except the zero one.
const known nameSet = 1 << 63

// nameBit returns the bit for the sum of a name.
func nameBit(sum uint32) nameSet { return 1 << (sum * 0x9e3779b1 >> 26 % 63) }

// nameSum is computed from the length and three bytes of a name. Names with different sums are
// different.
func nameSum[T string | []byte](name T) uint32 {
	if len(name) == 0 {
		return 0
	}
	return uint32(len(name))<<24 ^ uint32(name[0])<<16 ^ uint32(name[len(name)/2])<<8 ^
		uint32(name[len(name)-1])
}

// MayHave reports whether the params of a request or notification, or the result of a response, may
// have a member with that name. It is always true for a message that was not decoded, or that
// received other params.
func (m Message) MayHave(name string) bool {
	return m.names == 0 || m.names&nameBit(nameSum(name)) != 0
}
