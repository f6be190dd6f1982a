package auth

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func directory() (d *Directory, acme, other string) {
	acme, acmeHash := NewKey()
	other, otherHash := NewKey()
	next, nextHash := NewKey()
	_ = next
	return NewDirectory(map[string][]Key{
		"acme":  {{"old", HashKey("x")}, {"ci", nextHash}, {"ci", acmeHash}},
		"other": {{"bob", otherHash}},
		"open":  nil,
	}), acme, other
}

// S50, S61, S62: the answer is the same whatever is wrong with the credential or the tenant.
func TestOneRefusalForEveryReason(t *testing.T) {
	d, acme, other := directory()
	for _, c := range []struct {
		name, tenant  string
		authorization []string
		want          error
	}{
		{"no header", "acme", nil, ErrUnauthorized},
		{"blank header", "acme", []string{""}, ErrUnauthorized},
		{"scheme only", "acme", []string{"Bearer"}, ErrUnauthorized},
		{"empty token", "acme", []string{"Bearer "}, ErrUnauthorized},
		{"garbage", "acme", []string{"\xff\x00"}, ErrUnauthorized},
		{"basic", "acme", []string{"Basic " + acme}, ErrUnauthorized},
		{"no scheme", "acme", []string{acme}, ErrUnauthorized},
		{"wrong key", "acme", []string{"Bearer " + acme + "x"}, ErrUnauthorized},
		{"prefix of a key", "acme", []string{"Bearer " + acme[:len(acme)-1]}, ErrUnauthorized},
		{"other case", "acme", []string{"Bearer " + strings.ToUpper(acme)}, ErrUnauthorized},
		{"hash for a key", "acme", []string{"Bearer " + HashKey(acme).String()}, ErrUnauthorized},
		{"two tokens", "acme", []string{"Bearer " + acme + ", Bearer " + acme}, ErrUnauthorized},
		{"foreign key", "acme", []string{"Bearer " + other}, ErrUnauthorized},
		{"unknown tenant", "nobody", []string{"Bearer " + acme}, ErrUnauthorized},
		{"unknown tenant, no key", "nobody", nil, ErrUnauthorized},
		{"empty tenant", "", []string{"Bearer " + acme}, ErrUnauthorized},
		{"two headers", "acme", []string{"Bearer " + acme, "Bearer " + acme}, ErrAmbiguous},
		{"two headers, unknown tenant", "nobody", []string{"", ""}, ErrAmbiguous},
		{"two headers, open tenant", "open", []string{"a", "b"}, ErrAmbiguous},
	} {
		if got, err := d.Authenticate(c.tenant,
			Credentials{Authorization: c.authorization}); !errors.Is(err, c.want) || got != (Principal{}) {
			t.Errorf("%s: %v, %v, want %v", c.name, got, err, c.want)
		}
	}
}

func TestKeyStandsForItsPrincipal(t *testing.T) {
	d, acme, other := directory()
	for _, c := range []struct {
		tenant, header string
		want           Principal
	}{
		{"acme", "Bearer " + acme, Principal{"acme", "ci"}},
		{"acme", "bearer " + acme, Principal{"acme", "ci"}},
		{"acme", "BEARER  " + acme + " ", Principal{"acme", "ci"}},
		{"acme", "Bearer x", Principal{"acme", "old"}},
		{"other", "Bearer " + other, Principal{"other", "bob"}},
		{"open", "Bearer " + acme, Principal{"open", Anonymous}},
		{"open", "", Principal{"open", Anonymous}},
	} {
		if got, err := d.Authenticate(c.tenant,
			Credentials{Authorization: []string{c.header}}); err != nil || got != c.want {
			t.Errorf("%s with a key of length %d = %v, %v, want %v", c.tenant, len(c.header), got,
				err, c.want)
		}
	}
}

// S61, S62: a refusal takes as long for a tenant with one key, or with none, as for the largest
// tenant. The test compares the fastest of many tries, which a busy machine does not disturb.
// Without the decoys the ratio is above a hundred.
func TestRefusalsDoEqualWork(t *testing.T) {
	many := make([]Key, 2000)
	for i := range many {
		many[i] = Key{"k", HashKey(fmt.Sprint(i))}
	}
	d := NewDirectory(map[string][]Key{"one": many[:1], "many": many})
	fastest := func(tenant string) time.Duration {
		best := time.Hour
		for range 100 {
			begin := time.Now()
			_, _ = d.Authenticate(tenant, Credentials{Authorization: []string{"Bearer nothing"}})
			best = min(best, time.Since(begin))
		}
		return best
	}
	largest := fastest("many")
	for _, tenant := range []string{"one", "nobody"} {
		if got := fastest(tenant); got > 4*largest || largest > 4*got {
			t.Errorf("a refusal for tenant %q takes %v, for the largest %v", tenant, got, largest)
		}
	}
}

func TestGeneratedKeys(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		key, hash := NewKey()
		if seen[key] || len(key) != len(Prefix)+keyDigits || !strings.HasPrefix(key, Prefix) ||
			hash != HashKey(key) {
			t.Fatalf("key %q", key)
		}
		seen[key] = true
		if again, err := ParseHash(hash.String()); err != nil || again != hash {
			t.Fatalf("ParseHash(%q) = %v, %v", hash, again, err)
		}
	}
}

func TestHashIsRefused(t *testing.T) {
	for _, s := range []string{"", "00", strings.Repeat("g", 64), strings.Repeat("0", 63),
		HashKey("").String()} {
		if _, err := ParseHash(s); err == nil {
			t.Errorf("ParseHash(%q) is accepted", s)
		}
	}
	if _, err := ParseHash(strings.ToUpper(HashKey("x").String())); err != nil {
		t.Errorf("upper case: %v", err)
	}
}

func TestNamesOfKeys(t *testing.T) {
	for _, name := range []string{"ci", "bob@example.com", "A-1_x.y"} {
		if err := CheckName(name); err != nil {
			t.Errorf("CheckName(%q) = %v", name, err)
		}
	}
	for _, name := range []string{"", Anonymous, "a b", "a/b", "é", strings.Repeat("a", 65)} {
		if CheckName(name) == nil {
			t.Errorf("CheckName(%q) is nil", name)
		}
	}
}

// A key in X-API-Key is as good as one in Authorization. Beside a different credential, neither
// is accepted.
func TestKeyInEitherHeader(t *testing.T) {
	d, acme, _ := directory()
	ci := Principal{"acme", "ci"}
	for _, c := range []struct {
		name          string
		authorization []string
		key           []string
		want          Principal
		err           error
	}{
		{"alone", nil, []string{acme}, ci, nil},
		{"with spaces", nil, []string{" " + acme + " "}, ci, nil},
		{"beside an empty Authorization", []string{""}, []string{acme}, ci, nil},
		{"the same in both", []string{"Bearer " + acme}, []string{acme}, ci, nil},
		{"empty beside a key", []string{"Bearer " + acme}, []string{""}, ci, nil},
		{"wrong", nil, []string{acme + "x"}, Principal{}, ErrUnauthorized},
		{"with a scheme", nil, []string{"Bearer " + acme}, Principal{}, ErrUnauthorized},
		{"another one", []string{"Bearer " + acme}, []string{"x"}, Principal{}, ErrAmbiguous},
		{"beside another scheme", []string{"Basic " + acme}, []string{acme}, Principal{}, ErrAmbiguous},
		{"two", nil, []string{acme, acme}, Principal{}, ErrAmbiguous},
	} {
		got, err := d.Authenticate("acme", Credentials{c.authorization, c.key})
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %v, %v, want %v, %v", c.name, got, err, c.want, c.err)
		}
	}
}
