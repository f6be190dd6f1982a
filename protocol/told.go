package protocol

import "math/bits"

// Within reports whether g has every capability of f.
func (f Fingerprint) Within(g Fingerprint) bool { return f&^g == 0 }

// Size is how many capabilities f has.
func (f Fingerprint) Size() int { return bits.OnesCount8(uint8(f)) }

// Told is what a server may be told of c when it is to see no capability of a fingerprint that is
// not in f. Members that no fingerprint knows stay.
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
	return c
}
