package protocol

import "math/bits"

// Within reports whether g has every capability of f.
func (f Fingerprint) Within(g Fingerprint) bool {
	others := f & OfOthers
	return f&^g&^OfOthers == 0 && (others == 0 || others == g&OfOthers)
}

// Size is how many capabilities f has.
func (f Fingerprint) Size() int {
	n := bits.OnesCount64(uint64(f &^ OfOthers))
	if f&OfOthers != 0 {
		n++
	}
	return n
}

// Told is what a server may be told of c when it is to see no capability of a fingerprint that is
// not in f.
func (c ClientCapabilities) Told(f Fingerprint) ClientCapabilities {
	withheld := c.Fingerprint() &^ f
	const elicit = CanElicitForm | CanElicitURL
	if withheld&elicit != 0 && c.Fingerprint()&f&elicit == 0 {
		c = c.Without("elicitation") // {} would promise forms
	}
	for _, row := range fingerprints {
		if withheld&row.bit != 0 {
			c = c.Without(row.path)
		}
	}
	if withheld&OfOthers != 0 {
		c = c.withoutOthers()
	}
	return c
}
