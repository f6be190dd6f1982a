package main

import (
	"fmt"
	"regexp"
	"strings"
)

// retired maps words that names of the project once had to the terms that took their place. A name
// is an identifier or the name of a file; its words are the parts that begin with a capital letter.
var retired = map[string]string{
	"bell":      "wake-up",
	"bequeath":  "hand over carried state",
	"bereave":   "drop carried state",
	"bulkhead":  "failure domain",
	"cradle":    "props pool",
	"detour":    "SSE fallback",
	"drowsy":    "idle",
	"emitter":   "response writer",
	"estate":    "carried state",
	"forsake":   "abandon",
	"glimpse":   "peek",
	"heir":      "carried state",
	"hollow":    "elided",
	"kid":       "child",
	"mourn":     "drop carried state",
	"newcomer":  "new connection",
	"outlet":    "stream response",
	"parcel":    "envelope",
	"relic":     "carried state",
	"sever":     "isolate",
	"sheddable": "best effort",
	"splice":    "edit of JSON",
	"stuffed":   "full",
	"wish":      "intent",
}

var part = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)

// checkName returns what is wrong with a name, or "".
func checkName(name string) string {
	for _, word := range part.FindAllString(name, -1) {
		word = strings.ToLower(word)
		now, found := retired[word]
		if !found {
			word = strings.TrimSuffix(word, "s")
			now, found = retired[word]
		}
		if found {
			return fmt.Sprintf("%s: say %s, not %s", name, now, word)
		}
	}
	return ""
}
