package era

import (
	"errors"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
)

// Identity decides when a server behind a URL is asked whether it is another one. When the server
// was found to be another, Identity knows what the former one spoke, until a server is there that
// speaks something else. The zero Identity is of a server of which nothing is known.
type Identity struct {
	pauses [signs]pause // before the server is asked again
	former Dialect
}

// Dialect is what tells a server from the one that was there before. The zero Dialect is that of
// none.
type Dialect struct {
	Era       protocol.Era
	Transport string
}

// Due reports whether a server that refused something with that sign is to be asked now.
func (i *Identity) Due(now time.Time, s EraEvidence) bool {
	return s != None && i.pauses[s].over(now)
}

// Asked records that the server was asked.
func (i *Identity) Asked(now time.Time, s EraEvidence) { i.pauses[s].grow(now) }

// Replaced records that the server was found to be another, and what the former one spoke.
func (i *Identity) Replaced(spoke Dialect) { i.former = spoke }

// Agreed records what the server speaks now.
func (i *Identity) Agreed(speaks Dialect) {
	if i.former != (Dialect{}) && i.former != speaks {
		*i = Identity{}
	}
}

// Check reads the answer to ProbeMethod of a server that spoke v, and reports whether it is
// another. A server that has trouble of its own has not shown that. A server that does not know
// ping may be a modern one, or a faulty legacy one: Check is unsure then, and CheckModern decides.
func Check(v protocol.Version, result jsontext.Value, err error) (another, unsure bool) {
	if v.Era() == protocol.Legacy {
		if e, ok := errors.AsType[*jsonrpc.Error](err); ok && e.Code == jsonrpc.CodeMethodNotFound {
			return false, true
		}
	} else if err == nil {
		r, err := protocol.ParseDiscover(result)
		return err != nil || !slices.Contains(r.Versions, v.String()), false
	}
	return err != nil && EvidenceOf(v.Era(), err) != None, false
}

// CheckModern reads the answer to server/discover of a server of which Check was unsure.
func CheckModern(policy protocol.Negotiation, result jsontext.Value, err error) (another bool) {
	if err != nil {
		answer, ok := errors.AsType[*jsonrpc.Error](err)
		return ok && protocol.SpecCode(answer.Code)
	}
	r, err := protocol.ParseDiscover(result)
	_, ours := policy.Choose(r.Versions)
	return err == nil && ours
}

// ProbeMethod returns a request that every server of an era answers.
func ProbeMethod(era protocol.Era) string {
	if era == protocol.Modern {
		return "server/discover"
	}
	return "ping"
}
