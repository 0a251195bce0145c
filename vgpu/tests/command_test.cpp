// The command `vgpu`: usage, exit codes, and which programs it refuses.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "command/elf_file.h"

namespace vgpu {
namespace {

struct Ran {
  int code;
  std::string output;  // both streams
};

Ran run(const std::string& arguments) {
  Ran ran{};
  FILE* pipe = popen((VGPU_COMMAND " " + arguments + " 2>&1").c_str(), "r");
  char part[256];
  while (std::fgets(part, sizeof part, pipe)) ran.output += part;
  ran.code = WEXITSTATUS(pclose(pipe));
  return ran;
}

TEST(Command, UsageErrorsExitWithTwoAndASentence) {
  for (const auto& [arguments, sentence] : std::vector<std::pair<std::string, std::string>>{
           {"", "usage: vgpu run"},
           {"jog", "there is no 'jog'"},
           {"run", "run needs a program"},
           {"run --", "run needs a program"},
           {"run --seed", "after --seed a number is missing"},
           {"run --seed x -- true", "which 'x' is not"},
           {"run --sm 70 -- true", "not 70"},
           {"run --devices", "after --devices a number is missing"},
           {"run --devices 0 -- true", "1 to 8, not 0"},
           {"run --devices 9 -- true", "1 to 8, not 9"},
           {"run --devices 12 -- true", "1 to 8, not 12"},
           {"run --check memory,rice -- true", "there is no check 'rice'"},
           {"run --report pdf out -- true", "there is no report 'pdf'"},
           {"run --report json", "after json the report's file is missing"},
           {"run --kernels", "after --kernels the list's file is missing"},
           {"run --kernels /no/such/list -- true", "/no/such/list cannot be written"},
           {"run --fast -- true", "no option '--fast'"},
           {"run -- /no/such/program", "there is no program /no/such/program"},
           {"run -- " VGPU_SOURCE "/README.md", "is not executable"},
           {"explain X99", "there is no code 'X99'"},
       }) {
    const auto ran = run(arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_NE(ran.output.find(sentence), std::string::npos) << arguments << ": " << ran.output;
  }
}

TEST(Command, TheExitCodeIsTheProgramsOwn) {
  EXPECT_EQ(run("run -- true").code, 0);
  EXPECT_EQ(run("run -- sh -c 'exit 7'").code, 7);
  EXPECT_EQ(run("run sh -c 'kill -TERM $$'").code, 128 + 15);
  const auto ran = run(
      "run --check none --seed 3 --devices 2 -- sh -c 'echo $VGPU_CHECK $VGPU_SEED $VGPU_DEVICES \"$1\"' - 'one word'");
  EXPECT_NE(ran.output.find("none 3 2 one word\n"), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("made no CUDA call"), std::string::npos) << ran.output;
}

// Here a shell stands for processes of one program that share kernels.
TEST(Command, KernelsAreListedOnceAndAsLaunchedWhereOneProcessDid) {
  const std::string file = testing::TempDir() + "kernels-" + std::to_string(getpid());
  const std::string lines = "used\\nhas _Z4copyi\\nhas _Z3addi\\nlaunched _Z3addi\\nhas _Z3addi\\nlaunched loaded\\n";
  EXPECT_EQ(run("run --kernels " + file + " -- sh -c 'printf \"" + lines + "\" >>$VGPU_STATUS'").code, 0);
  std::ifstream list(file);
  const std::string found{std::istreambuf_iterator<char>(list), {}};
  EXPECT_EQ(found, "launched\tadd(int)\t_Z3addi\nlaunched\tloaded\tloaded\nnever\tcopy(int)\t_Z4copyi\n");
  unlink(file.c_str());
}

bool runs(pid_t process) {  // and has not ended: such a process is a zombie until its new parent has looked
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string number, name, state;
  return file >> number >> name >> state && state != "Z";
}

TEST(Command, TheProgramEndsWithTheCommand) {
  for (const int how : {SIGKILL, SIGTERM}) {
    int output[2];
    ASSERT_EQ(pipe(output), 0);
    const pid_t command = fork();
    if (command == 0) {
      dup2(output[1], STDOUT_FILENO);
      close(output[0]);
      execl(VGPU_COMMAND, "vgpu", "run", "--", "/bin/sh", "-c", "echo $$; exec sleep 60", nullptr);
      _exit(127);
    }
    close(output[1]);
    FILE* lines = fdopen(output[0], "r");
    pid_t program = 0;
    ASSERT_EQ(std::fscanf(lines, "%d", &program), 1);
    ASSERT_TRUE(runs(program));
    std::fclose(lines);
    kill(command, how);
    for (int i = 0; i < 500 && runs(program); ++i) usleep(10000);
    EXPECT_FALSE(runs(program));
    kill(program, SIGKILL);
    int status = 0;
    waitpid(command, &status, 0);
    if (how == SIGTERM) EXPECT_EQ(WEXITSTATUS(status), 128 + SIGTERM);
  }
}

TEST(Command, ThePagesAreThere) {
  EXPECT_EQ(run("explain E03").code, 0);
  const auto list = run("explain");
  EXPECT_EQ(list.code, 0);
  for (const char* code :
       {"E01", "E02", "E03", "E04", "E05", "E06", "E07", "E08", "E09", "E10", "E11", "P01", "P02", "P03", "P04"}) {
    EXPECT_NE(list.output.find(code), std::string::npos) << code;
  }
}

TEST(ElfFile, WhatIsRefused) {
  EXPECT_EQ(refusal({true, true, {"libc.so.6", "libcudart.so.13"}}), "");
  EXPECT_NE(refusal({true, true, {"libc.so.6"}}).find("--cudart shared"), std::string::npos);
  EXPECT_NE(refusal({true, true, {"libcudart.so.12"}}).find("build it with CUDA 13"), std::string::npos);
  EXPECT_EQ(refusal({true, false, {"libc.so.6"}}), "");
  EXPECT_EQ(refusal({false, false, {}}), "");
}

TEST(ElfFile, IsReadWholeOrCut) {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  const auto whole = read_elf(std::as_bytes(std::span(bytes)));
  EXPECT_TRUE(whole.is_elf);
  EXPECT_FALSE(whole.has_kernels);
  EXPECT_NE(std::find(whole.needed.begin(), whole.needed.end(), "libc.so.6"), whole.needed.end());
  for (size_t length = 0; length < bytes.size(); length += 1 + length / 8) {
    const std::vector<char> cut(bytes.begin(), bytes.begin() + length);
    EXPECT_LE(read_elf(std::as_bytes(std::span(cut))).needed.size(), whole.needed.size());
  }
}

}  // namespace
}  // namespace vgpu
