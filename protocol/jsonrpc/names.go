package jsonrpc

// names is which members the params or the result of a decoded message may have, by a bit for each,
// which two names may share. Most members that somebody looks for are not there, and by this they
// need not be looked for. The zero names knows nothing.
type names uint64

// known is set in all names but the zero one.
const known names = 1 << 63

// bit is that of a name, by its sum.
func bit(sum uint32) names { return 1 << (sum * 0x9e3779b1 >> 26 % 63) }

// sum is of the length and three bytes of a name; names with different sums differ.
func sum[T string | []byte](name T) uint32 {
	if len(name) == 0 {
		return 0
	}
	return uint32(len(name))<<24 ^ uint32(name[0])<<16 ^ uint32(name[len(name)/2])<<8 ^
		uint32(name[len(name)-1])
}

// May reports whether the params of a request or notification, or the result of a response, may have
// a member of that name. Only Decode knows when there is none: of a message that was put together,
// or given other params, it is always true.
func (m Message) May(name string) bool { return m.names == 0 || m.names&bit(sum(name)) != 0 }
