package protocol

import (
	"regexp"
	"slices"
)

// dates finds what has the form of a revision.
var dates = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}`)

// NamedVersions are the known revisions that a refusal names, in whatever member or words: no
// revision says how a server of before 2026-07-28 lists those that it supports.
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

// Newest is the newest revision of an era that the policy allows.
func (n Negotiation) Newest(era Era) (Version, bool) {
	offered := n.Offered(era)
	if len(offered) == 0 {
		return 0, false
	}
	return offered[len(offered)-1], true
}

// Again picks the revision in which a server is asked once more that has refused those that were
// tried: the newest of an era that it named, else the newest that one of our own clients speaks.
func (n Negotiation) Again(era Era, named, own, tried []Version) (Version, bool) {
	for _, among := range [][]Version{named, own} {
		for _, v := range slices.Backward(n.Offered(era)) {
			if slices.Contains(among, v) && !slices.Contains(tried, v) {
				return v, true
			}
		}
	}
	return 0, false
}
