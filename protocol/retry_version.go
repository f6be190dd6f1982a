package protocol

import (
	"regexp"
	"slices"
)

// dates matches text that has the form of a revision.
var dates = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}`)

// NamedVersions returns the known revisions that the texts of a refusal contain. It searches the
// whole text, because no revision before 2026-07-28 specifies how a server lists the revisions that
// it supports.
func NamedVersions(texts ...string) (named []Version) {
	for _, text := range texts {
		for _, name := range dates.FindAllString(text, -1) {
			if v, ok := ParseVersion(name); ok && !slices.Contains(named, v) {
				named = append(named, v)
			}
		}
	}
	return named
}

// Newest returns the newest revision of an era that the policy allows, and whether there is one.
func (n Negotiation) Newest(era Era) (Version, bool) {
	offered := n.Offered(era)
	if len(offered) == 0 {
		return 0, false
	}
	return offered[len(offered)-1], true
}

// RetryVersion picks the revision in which to ask a server again that refused the revisions in
// tried. It prefers the newest revision of the era among named, which the server listed. Otherwise
// it takes the newest among own, which the host's own clients speak. It returns false if none is
// left.
func (n Negotiation) RetryVersion(era Era, named, own, tried []Version) (Version, bool) {
	for _, among := range [][]Version{named, own} {
		for _, v := range slices.Backward(n.Offered(era)) {
			if slices.Contains(among, v) && !slices.Contains(tried, v) {
				return v, true
			}
		}
	}
	return 0, false
}
