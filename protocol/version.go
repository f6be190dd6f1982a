package protocol

import (
	"fmt"
	"slices"
)

// Version is one published revision of MCP. The zero Version means that no revision was agreed on.
type Version uint8

// The revisions, oldest first. The package documentation says how to add one.
const (
	V20241105 Version = iota + 1
	V20250326
	V20250618
	V20251125
	V20260728

	versionCount = int(iota)
)

// Latest is the newest revision. LatestLegacy is the newest revision that begins with initialize.
const (
	Latest       = V20260728
	LatestLegacy = V20251125
)

// versionNames has a length of its own, so that the build fails if a revision lacks a name.
var versionNames = [...]string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

var _ [versionCount]string = versionNames

// Era is one of the two generations of MCP, which differ in how a conversation begins.
type Era uint8

// The eras (2026-07-28 §basic/versioning).
const (
	Legacy Era = iota + 1 // a connection begins with initialize and has a state
	Modern                // every request is stateless and names its revision in _meta
)

// String is "legacy", "modern" or "unknown".
func (e Era) String() string {
	switch e {
	case Legacy:
		return "legacy"
	case Modern:
		return "modern"
	}
	return "unknown"
}

// Versions lists all revisions, oldest first.
func Versions() []Version {
	all := make([]Version, versionCount)
	for i := range all {
		all[i] = Version(i + 1)
	}
	return all
}

// GetSupportedVersions lists the names of all revisions, newest first, which is the order of
// preference.
func GetSupportedVersions() []string {
	names := slices.Clone(versionNames[:])
	slices.Reverse(names)
	return names
}

// ParseVersion returns the revision with exactly that name, and whether it exists.
func ParseVersion(name string) (Version, bool) {
	i := slices.Index(versionNames[:], name)
	return Version(i + 1), i >= 0
}

// String is the date that names the revision on the wire; "none" for the zero Version.
func (v Version) String() string {
	switch {
	case v == 0:
		return "none"
	case v.known():
		return versionNames[v-1]
	}
	return fmt.Sprintf("version(%d)", uint8(v))
}

// Era returns the era of the revision. The zero Version is legacy, because a modern request always
// names its revision. An unknown Version is legacy too.
func (v Version) Era() Era {
	if v.Has(PerRequestMeta) {
		return Modern
	}
	return Legacy
}

// ValidFormat reports whether name has the form YYYY-MM-DD, with a month from 01 to 12 and a day
// from 01 to 31.
func ValidFormat(name string) bool {
	if len(name) != len("2006-01-02") || name[4] != '-' || name[7] != '-' {
		return false
	}
	for i := range len(name) {
		if i != 4 && i != 7 && (name[i] < '0' || name[i] > '9') {
			return false
		}
	}
	month, day := name[5:7], name[8:]
	return "01" <= month && month <= "12" && "01" <= day && day <= "31"
}

func (v Version) known() bool { return 0 < v && int(v) <= versionCount }
