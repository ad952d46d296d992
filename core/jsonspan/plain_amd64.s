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

// func stringBlocks(p []byte) (n int, union uint64, escaped bool)
//
// Y1 and Y2 are the block, bit i of R8 that its byte i is special. An escape's second byte may be that behind the block.
TEXT ·stringBlocks(SB), NOSPLIT, $0-41
	MOVQ p_base+0(FP), SI
	MOVQ p_len+8(FP), DX
	MOVQ SI, DI
	XORQ R10, R10                   // 1 where an escape was met
	XORQ R11, R11                   // high bits of the block that was stopped in
	MOVQ $0x0000800400000000, R12   // " and /
	MOVQ $0x0014404410000000, R13   // \ b f n r t, less 64

	MOVL         $0x02020202, AX
	VMOVD        AX, X10
	VPBROADCASTD X10, Y10
	MOVL         $0x20202020, AX
	VMOVD        AX, X11
	VPBROADCASTD X11, Y11
	MOVL         $0x5c5c5c5c, AX
	VMOVD        AX, X12
	VPBROADCASTD X12, Y12
	VPXOR        Y8, Y8, Y8
	VPXOR        Y9, Y9, Y9

block:
	CMPQ     DX, $65
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
	VPOR     Y3, Y5, Y3
	VPOR     Y4, Y6, Y4
	MOVQ     $64, R9
	VPOR     Y3, Y4, Y5
	VPTEST   Y5, Y5
	JZ       through

	VPMOVMSKB Y3, R8
	VPMOVMSKB Y4, AX
	SHLQ      $32, AX
	ORQ       AX, R8

special:
	BSFQ    R8, R9
	CMPB    (SI)(R9*1), $0x5c
	JNE     stop
	MOVBLZX 1(SI)(R9*1), AX
	MOVQ    R12, BX
	CMPL    AX, $64
	JB      second
	MOVQ    R13, BX
	SUBL    $64, AX
	CMPL    AX, $64
	JAE     stop

second:
	BTQ  AX, BX
	JCC  stop
	MOVQ $1, R10
	ADDQ $2, R9
	CMPQ R9, $64
	JAE  through
	MOVQ $-1, AX
	MOVQ R9, CX
	SHLQ CX, AX
	ANDQ AX, R8
	JNZ  special
	MOVQ $64, R9

through:
	VPOR Y1, Y2, Y1
	VPOR Y1, Y9, Y9
	ADDQ R9, SI
	SUBQ R9, DX
	JMP  block

stop:
	VPMOVMSKB Y1, R11
	VPMOVMSKB Y2, AX
	SHLQ      $32, AX
	ORQ       AX, R11
	MOVQ      $-1, AX
	MOVQ      R9, CX
	SHLQ      CX, AX
	NOTQ      AX
	ANDQ      AX, R11
	ADDQ      R9, SI

done:
	SUBQ DI, SI
	MOVQ SI, n+24(FP)
	MOVB R10, escaped+40(FP)

	// Fold the union to eight bytes. That of the last block is there as bits alone.
	VEXTRACTI128 $1, Y9, X1
	VPOR         X1, X9, X9
	VPSRLDQ      $8, X9, X1
	VPOR         X1, X9, X9
	VMOVQ        X9, AX
	NEGQ         R11
	SBBQ         R11, R11 // all ones where it was not 0
	ORQ          R11, AX
	MOVQ         AX, union+32(FP)
	VZEROUPPER
	RET
