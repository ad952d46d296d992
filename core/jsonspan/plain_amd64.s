//go:build !purego

#include "textflag.h"

// func plainBlocks(p []byte) (n int, union uint64)
//
// A byte x is a quote or below 0x20 where (x^2) - 0x20, saturated at 0, is 0.
TEXT ·plainBlocks(SB), NOSPLIT, $0-40
	MOVQ p_base+0(FP), SI
	MOVQ p_len+8(FP), CX
	MOVQ SI, DI

	MOVL         $0x02020202, AX
	VMOVD        AX, X10
	VPBROADCASTD X10, Y10
	MOVL         $0x20202020, AX
	VMOVD        AX, X11
	VPBROADCASTD X11, Y11
	MOVL         $0x5c5c5c5c, AX
	VMOVD        AX, X12
	VPBROADCASTD X12, Y12
	VPXOR        Y8, Y8, Y8         // zero
	VPXOR        Y9, Y9, Y9         // union of the blocks

block:
	CMPQ     CX, $64
	JB       done
	VMOVDQU  (SI), Y1
	VMOVDQU  32(SI), Y2
	VPXOR    Y10, Y1, Y3
	VPXOR    Y10, Y2, Y4
	VPSUBUSB Y11, Y3, Y3
	VPSUBUSB Y11, Y4, Y4
	VPCMPEQB Y8, Y3, Y3
	VPCMPEQB Y8, Y4, Y4
	VPCMPEQB Y12, Y1, Y5
	VPCMPEQB Y12, Y2, Y6
	VPOR     Y3, Y4, Y3
	VPOR     Y5, Y6, Y5
	VPOR     Y3, Y5, Y3
	VPTEST   Y3, Y3
	JNZ      done
	VPOR     Y1, Y2, Y1
	VPOR     Y1, Y9, Y9
	ADDQ     $64, SI
	SUBQ     $64, CX
	JMP      block

done:
	SUBQ DI, SI
	MOVQ SI, n+24(FP)

	// Fold the union to eight bytes.
	VEXTRACTI128 $1, Y9, X1
	VPOR         X1, X9, X9
	VPSRLDQ      $8, X9, X1
	VPOR         X1, X9, X9
	VMOVQ        X9, AX
	MOVQ         AX, union+32(FP)
	VZEROUPPER
	RET
