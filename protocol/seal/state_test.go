package seal

import (
	"bytes"
	"testing"
	"time"
)

// A text with another layout is not a state, even if it was sealed with the host's key.
func FuzzDecode(f *testing.F) {
	whole, err := State{Kind: UpstreamState, Upstream: []byte(`"s"`), Instance: "i",
		Expiry: time.UnixMilli(1)}.encode()
	if err != nil {
		f.Fatal(err)
	}
	for n := range len(whole) + 1 {
		f.Add(whole[:n])
	}
	f.Add(append(bytes.Clone(whole), 0))
	f.Add(append([]byte{9}, whole[1:]...))
	f.Fuzz(func(t *testing.T, in []byte) {
		s, ok := decode(in)
		if ok && len(in) < fixed+2 || !ok && bytes.Equal(in, whole) {
			t.Fatalf("%x: got %+v, %v", in, s, ok)
		}
		if !ok || len(s.Instance) > MaxInstance || len(s.Upstream) > MaxUpstream {
			return
		}
		again, err := s.encode()
		if second, ok := decode(again); err != nil || !ok || second.Round != s.Round ||
			!second.Expiry.Equal(s.Expiry) || !bytes.Equal(second.Upstream, s.Upstream) {
			t.Fatalf("%x: got %+v, then %+v, %v", in, s, second, err)
		}
	})
}
