package admin

import (
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	mcpdv1 "mcpd/proto/gen/mcpd/v1"
)

// encode returns a message as the admin API writes it: with names as in the .proto file, and with
// zero counts and empty lists. protojson varies its white space on purpose. Compacting makes
// equal messages equal bytes.
func encode(m proto.Message) []byte {
	raw, err := protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		// This happens only for text that is not UTF-8, and all text is cleaned where it enters.
		panic(err)
	}
	v := jsontext.Value(raw)
	if err := v.Compact(); err != nil {
		panic(err)
	}
	return v
}

func answer(w http.ResponseWriter, status int, m proto.Message) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(encode(m), '\n'))
}

func problem(w http.ResponseWriter, status int, label, hint string) {
	answer(w, status, &mcpdv1.Problem{Status: uint32(status), Error: label, Hint: hint})
}

// boolParam reads a query parameter that is on or off. If it is neither, boolParam answers the
// request with an error.
func boolParam(w http.ResponseWriter, r *http.Request, name string) (on, ok bool) {
	raw := r.URL.Query().Get(name)
	if raw == "" {
		return false, true
	}
	on, err := strconv.ParseBool(raw)
	if err != nil {
		problem(w, http.StatusBadRequest, name+" is neither on nor off", "use ?"+name+"=1")
	}
	return on, err == nil
}
