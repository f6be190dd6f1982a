package report

import (
	"strings"

	"mcpd/chaos/record"
)

// Bounds of a drawn tree: its depth, its lines of rows to which something happened, and its lines
// of other rows.
const (
	maxDepth  = 16
	maxHurt   = 200
	maxUnhurt = 300
)

// treeLine is a line of the tree. Untouched rows below a row are folded into one line.
type treeLine struct {
	Lead, Name, Badge, Note string
	Hurt                    bool
	Folded                  []treeLine
}

// branch is a row with the rows below it.
type branch struct {
	id       string
	row      *record.Row
	anew     record.StartCounts
	children []*branch
	hurt     bool // the row, or a row below it
	rows     int  // including itself
}

// treeOf draws the rows of a record, in the order of the record.
func treeOf(r *record.Record) []treeLine {
	root, began := &branch{}, r.StartCounts()
	index := map[string]*branch{"": root}
	for i := range r.Rows {
		row := &r.Rows[i]
		at, path := root, ""
		for _, id := range strings.SplitN(row.Path, "/", maxDepth) {
			path += "/" + id
			child := index[path]
			if child == nil {
				child = &branch{id: id}
				index[path] = child
				at.children = append(at.children, child)
			}
			at = child
		}
		at.row, at.anew = row, began[row.Path]
	}
	root.count()
	d := drawer{hurt: maxHurt, unhurt: maxUnhurt}
	lines := d.below(root, "")
	if d.remaining > 0 {
		lines = append(lines, treeLine{Name: "… " + countNoun(d.remaining, "more row", "more rows")})
	}
	return lines
}

// touched reports whether anything happened to the row.
func (b *branch) touched() bool {
	return b.row != nil && (b.anew.Times() > 0 || b.row.Before != b.row.After)
}

func (b *branch) count() {
	b.hurt = b.touched()
	if b.row != nil {
		b.rows = 1
	}
	for _, child := range b.children {
		child.count()
		b.hurt = b.hurt || child.hurt
		b.rows += child.rows
	}
}

// drawer draws no more lines than its bounds allow.
type drawer struct{ hurt, unhurt, remaining int }

func (d *drawer) below(b *branch, lead string) (lines []treeLine) {
	var hurt, unhurt []*branch
	for _, child := range b.children {
		if child.hurt {
			hurt = append(hurt, child)
		} else {
			unhurt = append(unhurt, child)
		}
	}
	for i, child := range hurt {
		if d.hurt == 0 {
			d.remaining += child.rows
			continue
		}
		d.hurt--
		last := i == len(hurt)-1 && len(unhurt) == 0
		lines = append(lines, lineOf(child, lead, last, b.id == ""))
		lines = append(lines, d.below(child, lead+bar(last, b.id == ""))...)
	}
	if len(unhurt) > 0 {
		lines = append(lines, d.fold(unhurt, lead, b.id == ""))
	}
	return lines
}

// bar continues the lines of the tree below a row.
func bar(last, root bool) string {
	switch {
	case root:
		return ""
	case last:
		return "   "
	}
	return "│  "
}

func lineOf(b *branch, lead string, last, root bool) treeLine {
	l := treeLine{Name: name(b.id), Hurt: b.touched()}
	switch {
	case root:
	case last:
		l.Lead = lead + "└─ "
	default:
		l.Lead = lead + "├─ "
	}
	if b.row == nil {
		return l
	}
	if b.anew.Restarts > 0 {
		l.Badge = countNoun(b.anew.Restarts, "restart", "restarts")
	}
	if more := b.anew.Incarnations - b.anew.Restarts; more > 0 {
		l.Note = countNoun(more, "more", "more") + " with the rows above it"
	}
	switch was, is := name(b.row.Before), name(b.row.After); {
	case was == is:
	case was == "":
		l.Note = "new: " + is
	case is == "":
		l.Note = "gone; was " + was
	default:
		l.Note = was + " → " + is
	}
	return l
}

// fold puts untouched rows, and all rows below them, into one line.
func (d *drawer) fold(list []*branch, lead string, root bool) treeLine {
	rows := 0
	var names []string
	for _, b := range list {
		rows += b.rows
		names = append(names, name(b.id))
	}
	l := treeLine{
		Lead: lead + "└─ ", Name: countNoun(rows, "row", "rows") + " untouched: " + joinNames(names),
	}
	var put func([]*branch, string)
	put = func(list []*branch, lead string) {
		for i, b := range list {
			if d.unhurt == 0 {
				d.remaining += b.rows
				continue
			}
			d.unhurt--
			last := i == len(list)-1
			l.Folded = append(l.Folded, lineOf(b, lead, last, false))
			put(b.children, lead+bar(last, false))
		}
	}
	put(list, lead+"   ")
	if root {
		l.Lead = ""
	}
	return l
}
