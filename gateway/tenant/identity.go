package tenant

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"slices"
)

// Identity is a digest of all on which it depends what a server has to offer: how it is reached, started and spoken to, secrets included.
// While it stays the same, what was listed before a restart is still worth showing. Bounds and times are not part of it.
func (s Server) Identity() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q %q ", s.Command.Reveal(), s.Cwd.Reveal(), s.URL.Reveal(), s.Transport, s.Builtin)
	fmt.Fprintf(h, "%t %d %d %d ", s.Mute, s.Speak.Floor, s.Speak.Ceiling, len(s.Args))
	for _, a := range s.Args {
		fmt.Fprintf(h, "%q ", a.Reveal())
	}
	fmt.Fprintf(h, "%q ", s.EnvPass)
	if p := s.Proxy.Reveal(); p != "" { // what was listed without one stays worth showing
		fmt.Fprintf(h, "%q ", p)
	}
	named(h, s.Env)
	named(h, s.Headers)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func named(h hash.Hash, values map[string]Secret) {
	fmt.Fprintf(h, "%d ", len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(h, "%q %q ", name, values[name].Reveal())
	}
}
