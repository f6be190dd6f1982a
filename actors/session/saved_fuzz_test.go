package session

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// A stored value is restored as a session that can be stored again, or is refused. It never causes
// a crash.
func FuzzRestored(f *testing.F) {
	id := strings.Repeat("x", minID)
	f.Add(id, `{"tenant":"t","opened":"2026-11-20T12:00:00Z","version":"2025-11-25","capabilities":{"roots":{}},"offered":{"tools":{}},"client":{"name":"a","version":"b"},`+
		`"ready":true,"level":"debug","uris":[{"server":"files","uri":"a","own":"b"}]}`)
	f.Add(
		id,
		`{"tenant":"t","version":"2025-11-25","client":{"name":"a","version":"b"},"terms":{"client_name":"c"}}`,
	)
	f.Add("", `7`)
	f.Fuzz(func(t *testing.T, id, text string) {
		h, err := restored(id, jsontext.Value(text))
		if err != nil {
			return
		}
		if again, err := restored(id, h.Saved().Value); err != nil || again.endpoint != h.endpoint ||
			again.Version() != h.Version() {
			t.Errorf("%s is %s, which is %v", text, h.Saved().Value, err)
		}
	})
}
