// Package questions knows which questions of a server its clients are answering, and who waits for
// whom because of them. A server on a pipe that asks a user something takes no other call that may
// ask its user until it has the answer: that lasts for minutes. When every instance of a server has
// such a call, the calls that wait for their turn are written beside it, because a few users who do
// not answer would keep everybody else from the server. A question that could then be of more than
// one call is refused, so none ever reaches the wrong user. A call that still has to wait is
// refused in the end.
//
// It knows no clock, no connection and no session: it is told the time and which calls are in
// flight. A Table is of one server and is lost with it; Dialogs is of one incarnation of its
// connection.
package questions
