package protocol

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// A server that is told c within a fingerprint sees exactly that fingerprint: no capability more,
// and none less if a client can declare that set at all. Members that no fingerprint covers stay.
func TestToldIsTheFingerprintAskedFor(t *testing.T) {
	var all []ClientCapabilities
	possible := map[Fingerprint]bool{}
	for set := range 1 << len(fingerprints) {
		c := ClientCapabilities{}.With("experimental.x", jsontext.Value(`{"y":1}`))
		for i, row := range fingerprints {
			if set&(1<<i) != 0 {
				c = c.With(row.path, jsontext.Value("{}"))
			}
		}
		all = append(all, c)
		possible[c.Fingerprint()] = true
	}
	// The empty elicitation means forms.
	bare, err := ParseClientCapabilities(
		jsontext.Value(`{"elicitation":{},"experimental":{"x":{"y":1}}}`),
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range append(all, bare) {
		for g := range possible {
			if !g.Within(c.Fingerprint()) {
				continue
			}
			told := c.RestrictTo(g)
			if got := told.Fingerprint(); got != g || !told.Has("experimental.x") {
				t.Errorf("%s told as %s is %s", c.Raw(), g, told.Raw())
			}
		}
		if told := c.RestrictTo(c.Fingerprint()); string(told.Raw()) != string(c.Raw()) {
			t.Errorf("%s told in full is %s", c.Raw(), told.Raw())
		}
	}
	if len(possible) < 100 || CanRoots.Size() != 1 || (CanRoots|CanUI).Size() != 2 {
		t.Errorf("%d fingerprints", len(possible))
	}
}
