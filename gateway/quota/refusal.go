package quota

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
)

// refusedFor is how long a tenant at its bound should wait before it retries. Released bytes
// count at once.
const refusedFor = time.Second

// Refusal is the reason why a tenant may not begin something: the bytes that the tenant keeps, or
// the memory of the whole host.
type Refusal struct {
	Level      Level // Normal if there is no room
	Size       int64 // requested bytes
	AllTenants bool  // all tenants are refused; Holding is empty
	Holding          // Limit is how much the tenant may keep at this level
}

// ClientError returns the refusal as an error for the client.
func (r *Refusal) ClientError() *protocol.Error {
	if r.AllTenants {
		return protocol.Overloaded("host", r.Level.Retry())
	}
	err := protocol.Overloaded("tenant "+r.Tenant, max(refusedFor, r.Level.Retry()))
	err.Message += ": " + r.Holding.String() + ", " + r.why()
	err.Data = r.data()
	return err
}

// why returns the reason in words, and what to do.
func (r *Refusal) why() string {
	const again = "; it is served again when it has let go of some of that"
	little := "of a memory of which little is left (" + r.Level.String() + ")" + again
	switch {
	case r.Level >= High && r.Kept > r.Limit:
		return "more than its share " + little
	case r.Level >= High:
		return mebibytes(r.Size) + " more are beyond its share " + little
	case r.Kept >= r.Limit:
		return "as much as it may" + again
	}
	return mebibytes(r.Size) +
		" more have no room beside what others keep; less has, or the same later"
}

// data returns the same information for programs, in bytes.
func (r *Refusal) data() jsontext.Value {
	d := jsontext.Value(`{"kept":`)
	d = strconv.AppendInt(d, r.Kept, 10)
	d = strconv.AppendInt(append(d, `,"limit":`...), r.Limit, 10)
	d = append(d, `,"kinds":{`...)
	for k, n := range r.Kinds {
		if n > 0 {
			if d[len(d)-1] != '{' {
				d = append(d, ',')
			}
			d = append(strconv.AppendQuote(d, Kind(k).String()), ':')
			d = strconv.AppendInt(d, n, 10)
		}
	}
	return append(d, "}}"...)
}
