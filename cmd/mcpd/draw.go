package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	mcpdv1 "mcpd/proto/gen/mcpd/v1"
)

// printTree writes a row and the rows below it. A healthy row is short. Restarts and rows that are
// not running stand out.
func printTree(w io.Writer, n *mcpdv1.Node, lead, below string, now time.Time) {
	fmt.Fprintf(w, "%s%s%s\n", lead, n.GetId(), describe(n, now))
	children := n.GetChildren()
	for i, child := range children {
		branch, next := "├─ ", "│  "
		if i == len(children)-1 && n.GetHidden() == 0 {
			branch, next = "└─ ", "   "
		}
		printTree(w, child, below+branch, below+next, now)
	}
	if n.GetHidden() > 0 {
		fmt.Fprintf(w, "%s└─ … %d more\n", below, n.GetHidden())
	}
}

// describe returns the text behind the ID of a row.
func describe(n *mcpdv1.Node, now time.Time) string {
	var words []string
	if n.GetType() == "supervisor" {
		words = append(words, n.GetStrategy())
	}
	if n.ChildCount != nil {
		words = append(words, count(n.GetChildCount(), "child", "children"))
		if r := n.GetChildRestarts(); r > 0 {
			words = append(words, count(r, "restart", "restarts")+" below")
		}
	}
	if n.State != nil {
		words = append(words, n.GetState())
	}
	if n.Pid != nil {
		words = append(words, fmt.Sprintf("pid %d", n.GetPid()))
	}
	if n.Revision != nil {
		words = append(words, n.GetRevision())
	}
	if n.GetStale() {
		words = append(words, "lists from earlier")
	}
	if n.GetStatus() != "running" {
		words = append(words, strings.ToUpper(n.GetStatus()))
	}
	if n.GetRestarts() > 0 {
		words = append(words, count(n.GetRestarts(), "restart", "restarts"),
			fmt.Sprintf("incarnation %d", n.GetIncarnation()))
	}
	if n.GetMailbox() > 0 {
		words = append(words, fmt.Sprintf("mailbox %d", n.GetMailbox()))
	}
	if n.GetStuck() {
		words = append(words, "STUCK at one message")
	}
	if hung := hungOf(n); hung > 0 {
		words = append(words, fmt.Sprintf("%d HUNG", hung))
	}
	if n.Since != nil {
		words = append(words, now.Sub(n.Since.AsTime()).Round(time.Second).String())
	}
	words = append(words, describeProblems(n, now)...)
	return "  " + strings.Join(words, " · ")
}

// hungOf returns how many hung instances belong to n and to none of the rows below it.
func hungOf(n *mcpdv1.Node) uint32 {
	hung := n.GetHung()
	for _, child := range n.GetChildren() {
		hung -= min(hung, child.GetHung())
	}
	return hung
}

// describeProblems returns the text about a server that has a problem.
func describeProblems(n *mcpdv1.Node, now time.Time) (words []string) {
	if n.Retry != nil && n.GetRetry().AsTime().After(now) {
		words = append(words, "not before "+n.GetRetry().AsTime().Sub(now).Round(time.Second).String())
	}
	if n.CauseClass != nil {
		words = append(words, n.GetCauseClass())
	}
	if n.Incident != nil {
		words = append(words, "incident "+n.GetIncident())
	}
	if n.Cause != nil {
		words = append(words, "because "+n.GetCause())
	}
	if n.Odd != nil {
		words = append(words, "odd items: "+n.GetOdd())
	}
	if n.Waits != nil {
		words = append(words, n.GetWaits())
	}
	if n.Keeps != nil {
		words = append(words, "keeps "+n.GetKeeps())
	}
	if n.Stderr != nil {
		words = append(words, "stderr: "+n.GetStderr())
	}
	return words
}

// count returns a number with its noun.
func count(n uint32, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
