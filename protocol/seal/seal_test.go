package seal_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/seal"
)

var now = time.UnixMilli(1_800_000_000_000)

func key(id string, secret byte) seal.Key {
	k := seal.Key{ID: id}
	k.Secret[0] = secret
	return k
}

func ring(t testing.TB, keys ...seal.Key) *seal.Ring {
	t.Helper()
	r, err := seal.NewRing(rand.Reader, keys...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustSeal(t testing.TB, r *seal.Ring, b seal.Binding, s seal.State) string {
	t.Helper()
	token, err := r.Seal(b, s)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func binding() seal.Binding {
	return seal.Binding{
		Tenant: "acme", Principal: "ann", Upstream: "files", Method: "tools/call",
		Params: seal.DigestOf("tools/call", jsontext.Value(`{"name":"t"}`)),
	}
}

func held() seal.State {
	return seal.State{
		Kind: seal.Held, Instance: "host-1", Handle: [16]byte{1, 2, 3}, Round: 2,
		Expiry: now.Add(time.Minute),
	}
}

// refused checks for the error that all invalid tokens get.
func refused(t testing.TB, label string, r *seal.Ring, at time.Time, b seal.Binding, token string) {
	t.Helper()
	s, err := r.Open(at, b, token)
	if !reflect.DeepEqual(err, error(protocol.StateInvalid("requestState"))) ||
		!reflect.DeepEqual(s, seal.State{}) {
		t.Fatalf("%s: got %+v, %v", label, s, err)
	}
}

func TestStatesComeBack(t *testing.T) {
	r := ring(t, key("k7", 1))
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.OneOf(rapid.Just(""), rapid.StringMatching(`"[a-z]*"`)).Draw(rt, "upstream")
		want := seal.State{
			Kind:     seal.Kind(rapid.IntRange(1, 5).Draw(rt, "kind")),
			Instance: rapid.StringN(0, 16, 64).Draw(rt, "instance"),
			Round:    rapid.Uint32().Draw(rt, "round"),
			Expiry:   now.Add(time.Duration(rapid.IntRange(1, 1e6).Draw(rt, "ms")) * time.Millisecond),
		}
		if text != "" {
			want.Upstream = jsontext.Value(text)
		}
		copy(want.Handle[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(rt, "handle"))
		b := binding()
		b.Principal = rapid.String().Draw(rt, "principal")
		got, err := r.Open(now, b, mustSeal(t, r, b, want))
		if err != nil || !got.Expiry.Equal(want.Expiry) {
			rt.Fatalf("got %+v, %v; want %+v", got, err, want)
		}
		got.Expiry = want.Expiry
		if !reflect.DeepEqual(got, want) {
			rt.Fatalf("got %+v, want %+v", got, want)
		}
	})
}

func TestTokenIsOpaque(t *testing.T) {
	r := ring(t, key("k7", 1))
	s := held()
	s.Upstream = jsontext.Value(`"very secret"`)
	first, second := mustSeal(t, r, binding(), s), mustSeal(t, r, binding(), s)
	if first == second {
		t.Error("two tokens of one state are equal")
	}
	if !strings.HasPrefix(first, "v1.k7.") || strings.ContainsAny(first, "\" \\\n+/=") {
		t.Errorf("got %q", first)
	}
	raw, _ := base64.RawURLEncoding.DecodeString(first[len("v1.k7."):])
	if bytes.Contains(raw, []byte("secret")) || bytes.Contains(raw, []byte("host-1")) {
		t.Error("the state can be read")
	}
}

func TestTokenIsGoodForOneBinding(t *testing.T) {
	r := ring(t, key("k7", 1))
	token := mustSeal(t, r, binding(), held())
	for name, change := range map[string]func(*seal.Binding){
		"tenant":    func(b *seal.Binding) { b.Tenant = "other" },
		"principal": func(b *seal.Binding) { b.Principal = "bob" },
		"upstream":  func(b *seal.Binding) { b.Upstream = "mail" },
		"method":    func(b *seal.Binding) { b.Method = "prompts/get" },
		"params":    func(b *seal.Binding) { b.Params[31] ^= 1 },
		"boundary":  func(b *seal.Binding) { b.Tenant, b.Principal = "acm", "eann" },
	} {
		b := binding()
		change(&b)
		refused(t, name, r, now, b, token)
	}
}

func TestTokenExpires(t *testing.T) {
	r := ring(t, key("k7", 1))
	s := held()
	token := mustSeal(t, r, binding(), s)
	if _, err := r.Open(s.Expiry.Add(-time.Millisecond), binding(), token); err != nil {
		t.Error(err)
	}
	refused(t, "at its expiry", r, s.Expiry, binding(), token)
}

// Forgeries, including those of the conformance suite.
func TestForgedTokensAreRefused(t *testing.T) {
	r := ring(t, key("k7", 1), key("k6", 2))
	token := mustSeal(t, r, binding(), held())
	other := mustSeal(t, ring(t, key("k7", 9)), binding(), held())
	for name, forged := range map[string]string{
		"empty":              "",
		"suffix":             token + "-TAMPERED",
		"padding":            token + "=",
		"line break":         token[:20] + "\n" + token[20:],
		"line break at end":  token + "\r\n",
		"space":              " " + token,
		"truncated":          token[:len(token)-1],
		"cut to the nonce":   token[:len("v1.k7.")+16],
		"cut in the nonce":   token[:len("v1.k7.")+4],
		"no key":             "v1." + token[len("v1.k7."):],
		"key of another":     "v1.k6." + token[len("v1.k7."):],
		"unknown key":        "v1.k8." + token[len("v1.k7."):],
		"other version":      "v2." + token[len("v1."):],
		"sealed by others":   other,
		"another encoding":   "v1.k7.////",
		"no token":           "aGVsbG8",
		"version alone":      "v1.",
		"twice":              token + token,
		"larger than can be": "v1.k7." + strings.Repeat("A", seal.MaxToken),
	} {
		refused(t, name, r, now, binding(), forged)
	}
}

// A token with any single bit changed is refused.
func TestEveryBitCounts(t *testing.T) {
	r := ring(t, key("k7", 1), key("k6", 2), key("j7", 3))
	token := mustSeal(t, r, binding(), held())
	for i := range len(token) {
		for bit := range 8 {
			forged := []byte(token)
			forged[i] ^= 1 << bit
			refused(t, fmt.Sprintf("bit %d of byte %d", bit, i), r, now, binding(), string(forged))
		}
	}
	// The last character has bits that belong to no byte. Only one spelling of the last character is
	// accepted.
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for i := range alphabet {
		if forged := token[:len(token)-1] + alphabet[i:i+1]; forged != token {
			refused(t, "last character "+alphabet[i:i+1], r, now, binding(), forged)
		}
	}
}

// FuzzOpen opens arbitrary tokens except the ring's own. All are refused with the same error.
func FuzzOpen(f *testing.F) {
	r := ring(f, key("k7", 1), key("k6", 2))
	token := mustSeal(f, r, binding(), held())
	f.Add(token, 0, byte(1))
	f.Add(token, 6, byte(128))
	f.Add("v1.k6.AAAA", 3, byte(0))
	f.Add("v1..", 0, byte(0))
	f.Fuzz(func(t *testing.T, text string, at int, flip byte) {
		forged := []byte(text)
		if 0 <= at && at < len(forged) {
			forged[at] ^= flip
		}
		// Seeds of other runs may contain tokens of other rings.
		if string(forged) != token && !strings.HasPrefix(text, "v1.k7.") {
			refused(t, "forged", r, now, binding(), string(forged))
		}
		again := []byte(token)
		if flip != 0 {
			again[uint(at)%uint(len(again))] ^= flip
			refused(t, "flipped", r, now, binding(), string(again))
		}
	})
}

func TestKeysRotate(t *testing.T) {
	older, newer := key("k6", 6), key("k7", 7)
	before := mustSeal(t, ring(t, older), binding(), held())
	both := ring(t, newer, older)
	after := mustSeal(t, both, binding(), held())
	for _, token := range []string{before, after} {
		if _, err := both.Open(now, binding(), token); err != nil {
			t.Error(err)
		}
	}
	refused(t, "a key that is gone", ring(t, newer), now, binding(), before)
	refused(t, "a key that has not come", ring(t, older), now, binding(), after)
}

func TestNewRingRefuses(t *testing.T) {
	for name, keys := range map[string][]seal.Key{
		"none":      nil,
		"no name":   {key("", 1)},
		"long name": {key("abcdefghijklmnopq", 1)},
		"dot":       {key("a.b", 1)},
		"twice":     {key("a", 1), key("a", 2)},
	} {
		if r, err := seal.NewRing(rand.Reader, keys...); err == nil || r != nil {
			t.Errorf("%s: got %v, %v", name, r, err)
		}
	}
}

func TestSealRefuses(t *testing.T) {
	r := ring(t, key("aZ0-", 1))
	for name, change := range map[string]func(*seal.State){
		"no kind":       func(s *seal.State) { s.Kind = 0 },
		"unknown kind":  func(s *seal.State) { s.Kind = 6 },
		"upstream":      func(s *seal.State) { s.Upstream = make([]byte, seal.MaxUpstream+1) },
		"long instance": func(s *seal.State) { s.Instance = strings.Repeat("i", seal.MaxInstance+1) },
	} {
		s := held()
		change(&s)
		if token, err := r.Seal(binding(), s); err == nil || token != "" {
			t.Errorf("%s: got %v", name, err)
		}
	}
	largest := held()
	largest.Upstream, largest.Instance = make([]byte, seal.MaxUpstream), strings.Repeat("i",
		seal.MaxInstance)
	token := mustSeal(t, r, binding(), largest)
	if _, err := r.Open(now, binding(), token); err != nil || len(token) > seal.MaxToken {
		t.Errorf("the largest of %d bytes: %v", len(token), err)
	}
	dry, err := seal.NewRing(strings.NewReader("short"), key("a", 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dry.Seal(binding(), held()); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("without randomness: got %v", err)
	}
}

func TestDigestOf(t *testing.T) {
	const params = `{"name":"t","arguments":{"a":"ä","b":[1,{"x":2,"y":3}],"n":12345678901234567890}}`
	want := seal.DigestOf("tools/call", jsontext.Value(params))
	for _, same := range []string{
		`{"arguments":{"n":12345678901234567890,"b":[1,{"y":3,"x":2}],"a":"\u00e4"},"name":"t"}`,
		`{ "name" : "t", "arguments" : {"a":"ä", "b":[1, {"x":2,"y":3}],"n":12345678901234567890} }`,
		`{"name":"t","_meta":{"progressToken":1},"inputResponses":{"a":{}},"arguments":{"a":"ä","b":[1,{"x":2,"y":3}],"n":12345678901234567890},"requestState":"s"}`,
	} {
		if got := seal.DigestOf("tools/call", jsontext.Value(same)); got != want {
			t.Errorf("%s: differs", same)
		}
	}
	seen := map[seal.Digest]string{want: params}
	for _, other := range []string{
		``,
		`{}`,
		`{"name":"u","arguments":{"a":"ä","b":[1,{"x":2,"y":3}],"n":12345678901234567890}}`,
		`{"name":"t","arguments":{"a":"ä","b":[1,{"x":2,"y":3}],"n":12345678901234567891}}`,
		`{"name":"t","arguments":{"a":"ä","b":[{"x":2,"y":3},1],"n":12345678901234567890}}`,
		`{"name":"t","arguments":{"a":"ä","b":[1,{"x":2,"y":3}],"n":12345678901234567890,"_meta":{}}}`,
		`{"uri":"t"}`,
		`{"broken`,
	} {
		d := seal.DigestOf("tools/call", jsontext.Value(other))
		if was, ok := seen[d]; ok {
			t.Errorf("%s: is as %s", other, was)
		}
		seen[d] = other
	}
	if got := seal.DigestOf("prompts/get", jsontext.Value(params)); got == want {
		t.Error("the method does not count")
	}
	original := bytes.Clone([]byte(params))
	seal.DigestOf("tools/call", original)
	if string(original) != params {
		t.Error("the params changed")
	}
}

// formed lists texts that differ from their canonical form, each in another way.
var formed = []string{
	``, `{}`, `{"broken`, `{"a":1,"a":2}`, " { \"b\" : [ 1 , 2 ] , \"a\" : \"\\u00e4\\/\" } ",
	`{"name":"t","_meta":{},"arguments":{"z":{"y":1,"x":[{"b":1,"a":2}]},"a":null}}`,
	`{"requestState":"s","inputResponses":{"a":1},"\ud83d\ude00":1,"\uffee":2}`, "{\"a\":\"\xff\"}",
	`{"a":"\ud800"}`, `[1,2]`, `{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`,
	`{"b":{"y":1,"x":{"b":[{"d":1,"c":2},{"c":1,"d":2}],"a":1}},"a":1,"_meta":{"b":1,"a":2}}`,
	`{"\u0061":1,"b":2,"\u00e9":3,"\"":4,"\\":5,"z\n":6}`,
	"{\"\u20ac\":1,\"\U0001f600\":2,\"\ufb33\":3,\"\u00f6\":4}",
	`{"a":"\u001f\u0008\u000c\u007f\u2028\u0022\u005c\u002f\/"}`, `{"a":{"x":1,"\u0078":2}}`, `"x"`,
	`{"a":1e400,"b":-0.0}`, `{"a":[ ],"b":{ }}`,
}

// reference computes the digest through a copy in canonical form.
func reference(method string, params jsontext.Value) (d seal.Digest) {
	canonical := jsonedit.Without(params, "_meta", "inputResponses", "requestState").Clone()
	_ = canonical.Format(jsontext.ReorderRawObjects(true))
	h := sha256.New()
	for _, part := range []string{"mcpd request", method, string(canonical)} {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(append(length[:], part...))
	}
	h.Sum(d[:0])
	return d
}

// The digest is that of the canonical form, independent of the code that computes it: tokens
// outlive the host process that sealed them.
func TestDigestIsOfTheCanonicalForm(t *testing.T) {
	for _, params := range formed {
		if got, want := seal.DigestOf("tools/call", jsontext.Value(params)), reference("tools/call",
			jsontext.Value(params)); got != want {
			t.Errorf("%q: differs", params)
		}
	}
}

// The digest makes no copy of a large request, even if all of it differs from the canonical form.
func TestDigestCopiesNothing(t *testing.T) {
	for name, params := range map[string]jsontext.Value{
		"text": jsontext.Value(`{"name":"t","_meta":{},"arguments":{"text":"` +
			strings.Repeat("lorem ipsum ", 250_000) + `"}}`),
		"escapes": jsontext.Value(`{"name":"t","_meta":{},"arguments":{"text":"` +
			strings.Repeat(`lorem\/ipsum\u0020`, 150_000) + `"}}`),
		"list": jsontext.Value(`{"name":"t","_meta":{},"arguments":{"list":[` +
			strings.Repeat(`1, `, 1_000_000) + `1]}}`),
		"in order": jsontext.Value(`{"name":"t","_meta":{},"arguments":{"list":[` +
			strings.Repeat(`{"a":1,"b":2}, `, 200_000) + `1]}}`),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		seal.DigestOf("tools/call", params)
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 64<<10 {
			t.Errorf("%s: %d bytes for one of %d", name, got, len(params))
		}
	}
}

// FuzzDigest compares the hashed form with that of jsontext, for all valid JSON.
func FuzzDigest(f *testing.F) {
	for _, params := range formed {
		f.Add(params)
	}
	f.Fuzz(func(t *testing.T, params string) {
		if !jsontext.Value(params).IsValid() {
			seal.DigestOf("m", jsontext.Value(params)) // must not panic
			return
		}
		if got, want := seal.DigestOf("m", jsontext.Value(params)), reference("m",
			jsontext.Value(params)); got != want {
			t.Errorf("%q: differs", params)
		}
	})
}

func BenchmarkSeal(b *testing.B) {
	r, s, bound := ring(b, key("k7", 1)), held(), binding()
	b.ReportAllocs()
	for b.Loop() {
		mustSeal(b, r, bound, s)
	}
}

func BenchmarkOpen(b *testing.B) {
	r, bound := ring(b, key("k7", 1)), binding()
	token := mustSeal(b, r, bound, held())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Open(now, bound, token); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDigestOf(b *testing.B) {
	for name, params := range map[string]string{
		"small": `{"name":"files__read","arguments":{"path":"/srv/acme/README.md","head":100},"_meta":{"progressToken":1}}`,
		"1MiB": `{"name":"files__write","arguments":{"text":"` +
			strings.Repeat("lorem ipsum ", 87_000) + `"}}`,
		"hostile": `{"a":` + strings.Repeat(`{"b":`, 60) + `[` + strings.Repeat("0,", 500_000) + `0]` +
			strings.Repeat(`,"a":0}`, 60) + `}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(params)))
			b.ReportAllocs()
			for b.Loop() {
				seal.DigestOf("tools/call", jsontext.Value(params))
			}
		})
	}
}

func ExampleRing() {
	ring, err := seal.NewRing(rand.Reader, seal.Key{ID: "k7"}) // in production, with a secret
	if err != nil {
		panic(err)
	}
	asked := time.Now()
	params := jsontext.Value(`{"name":"deploy","arguments":{"to":"prod"}}`)
	ann := seal.Binding{
		Tenant: "acme", Principal: "ann", Upstream: "ops", Method: "tools/call",
		Params: seal.DigestOf("tools/call", params),
	}
	token, err := ring.Seal(ann, seal.State{Kind: seal.Held, Round: 1, Expiry: asked.Add(time.Minute)})
	if err != nil {
		panic(err)
	}
	state, err := ring.Open(asked, ann, token)
	fmt.Println(state.Round, err)

	bob := ann
	bob.Principal = "bob"
	_, err = ring.Open(asked, bob, token)
	fmt.Println(err)
	// Output:
	// 1 <nil>
	// requestState is invalid or expired
}
