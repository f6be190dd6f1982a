package config

import (
	"fmt"
	"sync"

	"mcpd/gateway/auth"
	"mcpd/gateway/config/document"
)

// weakKeys are keys whose hashes appear in examples, and keys that attackers try first.
var weakKeys = []string{
	"foo", "bar", "baz", "foobar", "test", "test1", "testing", "demo", "example", "sample", "dummy",
	"key", "apikey", "api-key", "api_key", "mykey", "my-key", "your-key", "your-api-key",
	"YOUR_API_KEY", "KEY",
	"secret", "mysecret", "my-secret", "topsecret", "s3cr3t", "password", "passwd", "Password1",
	"p@ssw0rd", "pass",
	"token", "mytoken", "my-token", "your-token", "TOKEN", "bearer", "changeme", "change-me",
	"changeit", "default",
	"admin", "administrator", "root", "user", "guest", "mcpd", "mcp", "hello", "hello world", "abc",
	"abc123",
	"letmein", "qwerty", "hunter2", "0", "1", "123", "1234", "12345", "123456", "12345678",
	"123456789",
	"1234567890", "111111", "000000", "x", "a", "sk-test", "sk-123", "none", "null", "undefined",
	"true",
}

var weakHashes = sync.OnceValue(func() map[auth.Hash]string {
	all := make(map[auth.Hash]string, len(weakKeys))
	for _, key := range weakKeys {
		all[auth.HashKey(key)] = key
	}
	return all
})

// eachWeak calls f for every key that anybody can guess.
func eachWeak(l *loader, f func(at document.Position, label string)) {
	for _, t := range l.tenants {
		for i, k := range t.Keys {
			key, weak := weakHashes()[k.Hash]
			if !weak {
				continue
			}
			f(l.find("tenants", t.Name, "auth", "keys", fmt.Sprint(i)),
				fmt.Sprintf("%s: the key %s is %q", quoted("tenant", t.Name), k.Name, key))
		}
	}
}

const (
	guessed    = "anybody can guess it"
	printNewer = "`mcpd key new` prints a better one"
)

// checkKeys refuses guessable keys if other machines can reach the listener.
func checkKeys(l *loader) {
	if exposedAddress(l.config.Listen) != "" {
		eachWeak(l, func(at document.Position, label string) { l.Report(at, label, guessed, printNewer) })
	}
}

// warnKeys warns of guessable keys.
func warnKeys(l *loader) {
	eachWeak(l, func(at document.Position, label string) { l.warn(at, label, guessed, printNewer) })
}
