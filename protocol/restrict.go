package protocol

import "math/bits"

// Within reports whether g has every capability of f. If f declares extensions that mcpd does not
// know, g must declare exactly the same ones.
func (f Fingerprint) Within(g Fingerprint) bool {
	others := f & OtherExtensions
	return f&^g&^OtherExtensions == 0 && (others == 0 || others == g&OtherExtensions)
}

// Size is the number of capabilities in f. All extensions that mcpd does not know count as one.
func (f Fingerprint) Size() int {
	n := bits.OnesCount64(uint64(f &^ OtherExtensions))
	if f&OtherExtensions != 0 {
		n++
	}
	return n
}

// RestrictTo returns the part of c that a server may be told if it may see only the capabilities in
// f. Members that no fingerprint covers stay.
func (c ClientCapabilities) RestrictTo(f Fingerprint) ClientCapabilities {
	withheld := c.Fingerprint() &^ f
	const elicit = CanElicitForm | CanElicitURL
	if withheld&elicit != 0 && c.Fingerprint()&f&elicit == 0 {
		c = c.Without("elicitation") // {} would declare forms
	}
	for _, row := range fingerprints {
		if withheld&row.bit != 0 {
			c = c.Without(row.path)
		}
	}
	if withheld&OtherExtensions != 0 {
		c = c.withoutOtherExtensions()
	}
	return c
}
