// For the corpus: MUTANTS_TO_n(X) is X(0) X(1) … X(n); kernel 0 is the correct one.
//
// A file's head says how its kernel is launched and what each mutant must yield: a code, at the lines that say
// `// here: <mutant>`, and nothing else. In parentheses: what the host does differently.
#pragma once

#define MUTANTS_TO_1(X) X(0) X(1)
#define MUTANTS_TO_2(X) MUTANTS_TO_1(X) X(2)
#define MUTANTS_TO_3(X) MUTANTS_TO_2(X) X(3)
#define MUTANTS_TO_4(X) MUTANTS_TO_3(X) X(4)
#define MUTANTS_TO_5(X) MUTANTS_TO_4(X) X(5)
#define MUTANTS_TO_6(X) MUTANTS_TO_5(X) X(6)
#define MUTANTS_TO_7(X) MUTANTS_TO_6(X) X(7)
#define MUTANTS_TO_8(X) MUTANTS_TO_7(X) X(8)
#define MUTANTS_TO_9(X) MUTANTS_TO_8(X) X(9)
#define MUTANTS_TO_10(X) MUTANTS_TO_9(X) X(10)
#define MUTANTS_TO_11(X) MUTANTS_TO_10(X) X(11)
#define MUTANTS_TO_12(X) MUTANTS_TO_11(X) X(12)
#define MUTANTS_TO_13(X) MUTANTS_TO_12(X) X(13)
#define MUTANTS_TO_14(X) MUTANTS_TO_13(X) X(14)

constexpr unsigned kFullMask = 0xffffffff;
