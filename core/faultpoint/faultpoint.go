// Package faultpoint marks the stages of a request at which tests make the built program fail.
//
// In a program that is built as usual Reach is empty and leaves no code behind. With the build tag faultpoints a test arms a
// point by a file of its name in the folder that PENSTOCK_FAULTPOINTS names: the request that reaches the point then panics
// there, or is held until the test has done something to it. What must hold afterwards is the tests' to say.
package faultpoint

// Point is a stage of a request.
type Point string

// The points, in the order in which a request reaches them.
const (
	Enter     Point = "enter"
	Auth      Point = "auth"       // before the key is looked for
	Queue     Point = "queue"      // with the key, before there is room for the request
	Account   Point = "account"    // with the room
	Body      Point = "body"       // before the body is read
	Choose    Point = "choose"     // with the body read
	Branch    Point = "branch"     // while a branch of a router is expanded, beside others where those are many
	Reserve   Point = "reserve"    // with the candidates, before anything is reserved
	Reserved  Point = "reserved"   // with the reservation
	Translate Point = "translate"  // before a plugin encodes
	Record    Point = "record"     // before an attempt has its place in the ledger
	Send      Point = "send"       // with that place, before anything is sent
	Sent      Point = "sent"       // with the request sent
	Head      Point = "head"       // with the head of the answer
	Held      Point = "held"       // with bytes of a stream, before the client is sent any
	Commit    Point = "commit"     // when the answer becomes the client's
	Committed Point = "committed"  // in the middle of a stream that is the client's
	Slow      Point = "slow"       // in the goroutine that writes to a slow client
	Left      Point = "left"       // in the goroutine that has seen the client leave
	Race      Point = "race"       // in an attempt's own goroutine, beside others
	Lead      Point = "lead"       // in the goroutine that leads a race
	End       Point = "end"        // when an attempt ends, before its row is settled
	Apologize Point = "apologize"  // before an error is written
	Log       Point = "log"        // before the request is logged
	ReadKey   Point = "read-key"   // in a read of the store that requests share
	ReadSpent Point = "read-spent" // likewise
	FarCall   Point = "far-call"   // in the goroutine of an HTTP/2 connection, with the head of an answer
)
