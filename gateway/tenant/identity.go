package tenant

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"slices"
)

// Identity returns a digest of all settings that determine the lists of a server: how it is
// reached, started and spoken to, secrets included. While the identity stays the same, lists from
// before a restart are still worth showing. Bounds and times are not part of it.
func (s Server) Identity() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q %q ", s.Command.Reveal(), s.Cwd.Reveal(), s.URL.Reveal(),
		s.Transport, s.Builtin)
	fmt.Fprintf(h, "%t %d %d %d ", s.DenyRequests, s.Negotiation.Floor, s.Negotiation.Ceiling,
		len(s.Args))
	for _, a := range s.Args {
		fmt.Fprintf(h, "%q ", a.Reveal())
	}
	fmt.Fprintf(h, "%q ", s.EnvPass)
	// Lists that were fetched without a proxy stay worth showing, so an empty proxy does not change
	// the identity.
	if p := s.Proxy.Reveal(); p != "" {
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
