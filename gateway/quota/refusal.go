package quota

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
)

// refusedFor is when a tenant at its bound may come back: what it lets go of counts at once.
const refusedFor = time.Second

// Refusal says why a tenant may not begin something: because of what it keeps, or because of the
// memory of the whole host.
type Refusal struct {
	Level     Level // Normal where it is for want of room
	Size      int64 // bytes that were asked for
	Everybody bool  // nobody may: Holding is nobody's
	Holding         // Limit is what the tenant may keep at this level
}

// Told is the refusal as its client is told.
func (r *Refusal) Told() *protocol.Error {
	if r.Everybody {
		return protocol.Overloaded("host", r.Level.Retry())
	}
	err := protocol.Overloaded("tenant "+r.Tenant, max(refusedFor, r.Level.Retry()))
	err.Message += ": " + r.Holding.String() + ", " + r.why()
	err.Data = r.data()
	return err
}

// why is the reason in words, and what to do.
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
	return mebibytes(r.Size) + " more have no room beside what others keep; less has, or the same later"
}

// data is the same for programs, in bytes.
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
