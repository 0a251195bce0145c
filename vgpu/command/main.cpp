// The command `vgpu`: runs a CUDA program on the virtual GPU, and explains what it finds.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "command/elf_file.h"
#include "explain/explain.h"
#include "report/source.h"

namespace {

namespace fs = std::filesystem;

constexpr int kUsage = 2, kErrorsFound = 66;

constexpr char kHelp[] = R"(usage: vgpu run [OPTIONS] [--] PROGRAM ARGUMENTS...
       vgpu explain [CODE]

run: runs a program that nvcc built with --cudart shared and PTX (-arch=compute_80) without a GPU, and says what is
wrong with its kernels. The exit code is the program's, or 66 where an error (E01 to E11) was found.

  --check LIST            what to look for: all (unless told), none, or memory,race,init,sync,perf
  --report FORMAT FILE    writes the findings as text, json or html
  --kernels FILE          writes the kernels that the program has, and which of them were never launched
  --seed N                another order of blocks and warps; 0 is the natural one
  --sm 80|90              the architecture to be; 90 unless told
  --memory BYTES          of each device; 8 GiB unless told
  --devices N             how many, 1 to 8; 1 unless told

explain: the page on a code, such as E03; without a code, the list of them.
)";

[[noreturn]] void usage_error(const std::string& sentence) {
  std::fprintf(stderr, "vgpu: %s\n", sentence.c_str());
  std::exit(kUsage);
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() < 20 && text.find_first_not_of("0123456789") == text.npos;
}

void check_list(std::string_view list) {
  for (std::string_view rest = list; !rest.empty();) {
    const auto word = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    bool known = false;
    for (const char* name : {"all", "none", "memory", "race", "init", "sync", "perf"}) known |= word == name;
    if (!known) {
      usage_error("there is no check '" + std::string(word) +
                  "'; there are all, memory, race, init, sync, perf and none");
    }
  }
}

// Takes the options off the front, as the environment variables that the library reads. Gives back the file of
// --kernels, which is for this process.
fs::path take_options(std::vector<std::string>& arguments) {
  fs::path kernels;
  size_t at = 0;
  const auto value = [&](const char* what) -> const std::string& {
    if (at + 1 >= arguments.size()) usage_error("after " + arguments[at] + " " + what + " is missing");
    return arguments[++at];
  };
  for (; at < arguments.size() && arguments[at].starts_with("-"); ++at) {
    const std::string option = arguments[at];
    if (option == "--") {
      ++at;
      break;
    }
    if (option == "--check") {
      const auto& list = value("a list of checks");
      check_list(list);
      setenv("VGPU_CHECK", list.c_str(), 1);
    } else if (option == "--report") {
      const auto& format = value("a format");
      if (format != "text" && format != "json" && format != "html") {
        usage_error("there is no report '" + format + "'; there are text, json and html");
      }
      setenv("VGPU_REPORT", format.c_str(), 1);
      setenv("VGPU_REPORT_FILE", fs::absolute(value("the report's file")).c_str(), 1);
    } else if (option == "--kernels") {
      kernels = fs::absolute(value("the list's file"));
      setenv("VGPU_KERNELS", "1", 1);
    } else if (option == "--seed") {
      const auto& seed = value("a number");
      if (!is_number(seed)) usage_error("a seed is a number, which '" + seed + "' is not");
      setenv("VGPU_SEED", seed.c_str(), 1);
    } else if (option == "--sm") {
      const auto& sm = value("80 or 90");
      if (sm != "80" && sm != "90") usage_error("the virtual GPU can be --sm 80 or --sm 90, not " + sm);
      setenv("VGPU_SM", sm.c_str(), 1);
    } else if (option == "--memory") {
      const auto& memory = value("a number of bytes");
      if (!is_number(memory)) usage_error("--memory is a number of bytes, which '" + memory + "' is not");
      setenv("VGPU_MEMORY", memory.c_str(), 1);
    } else if (option == "--devices") {
      const auto& devices = value("a number");
      if (devices.size() != 1 || devices < "1" || devices > "8") {
        usage_error("there can be --devices 1 to 8, not " + devices);
      }
      setenv("VGPU_DEVICES", devices.c_str(), 1);
    } else {
      usage_error("run has no option '" + option + "'; vgpu --help lists them");
    }
  }
  arguments.erase(arguments.begin(), arguments.begin() + at);
  return kernels;
}

// As a shell finds it.
fs::path find_program(const std::string& name) {
  if (name.find('/') != name.npos) return name;
  const char* path = std::getenv("PATH");
  for (std::string_view rest = path ? path : ""; !rest.empty();) {
    const auto folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    const auto candidate = fs::path(folder) / name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return name;
}

void check_program(const fs::path& program) {
  if (!fs::is_regular_file(program)) usage_error("there is no program " + program.string());
  if (access(program.c_str(), X_OK) != 0) usage_error(program.string() + " is not executable");
  std::ifstream file(program, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  const auto sentence = vgpu::refusal(vgpu::read_elf(std::as_bytes(std::span(bytes))));
  if (!sentence.empty()) usage_error(program.string() + " cannot be run: " + sentence);
}

void prepend(const char* variable, const std::string& folder) {
  const char* old = std::getenv(variable);
  setenv(variable, (old && *old ? folder + ":" + old : folder).c_str(), 1);
}

pid_t child = 0;

void pass_on(int signal) { kill(child, signal); }

// The terminal sends its signals to the program too; others are sent to us alone.
void handle_signals() {
  signal(SIGINT, SIG_IGN);
  signal(SIGQUIT, SIG_IGN);
  signal(SIGTERM, pass_on);
  signal(SIGHUP, pass_on);
}

// Starts the program such that it ends with this process, also where that is killed. Returns errno.
int start(const fs::path& program, char* const* words) {
  int answer[2];  // closed by exec, or given the reason why there was none
  if (pipe2(answer, O_CLOEXEC) != 0) return errno;
  sigset_t passed_on, before;  // held back until there is somebody to pass them on to
  sigemptyset(&passed_on);
  sigaddset(&passed_on, SIGTERM);
  sigaddset(&passed_on, SIGHUP);
  sigprocmask(SIG_BLOCK, &passed_on, &before);
  const pid_t parent = getpid();
  child = fork();
  if (child == 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(128 + SIGKILL);  // it ended before the line above
    execv(program.c_str(), words);
    const int error = errno;
    _exit(write(answer[1], &error, sizeof error) == sizeof error ? 127 : 126);
  }
  int error = child < 0 ? errno : 0;
  if (child > 0) handle_signals();
  sigprocmask(SIG_SETMASK, &before, nullptr);
  close(answer[1]);
  ssize_t bytes = 0;
  if (child > 0) {
    while ((bytes = read(answer[0], &error, sizeof error)) < 0 && errno == EINTR) {
    }
    if (bytes > 0) waitpid(child, nullptr, 0);
  }
  close(answer[0]);
  return error;
}

int wait_for_child() {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// A line for each kernel, by name: whether it was launched or never, what the program calls it, its symbol.
void list_kernels(std::ofstream& file, const std::map<std::string, bool>& launched) {
  std::vector<std::string> lines;
  for (const auto& [symbol, was] : launched)
    lines.push_back((was ? "launched\t" : "never\t") + vgpu::demangled(symbol) + "\t" + symbol + "\n");
  std::sort(lines.begin(), lines.end());
  for (const auto& line : lines) file << line;
}

int run(std::vector<std::string> arguments) {
  const auto kernels_file = take_options(arguments);
  if (arguments.empty()) usage_error("run needs a program: vgpu run [OPTIONS] -- PROGRAM ARGUMENTS...");
  const auto program = find_program(arguments[0]);
  check_program(program);

  const auto folder = fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "lib" / "vgpu";
  std::ofstream kernels;
  if (!kernels_file.empty()) kernels.open(kernels_file);
  if (!kernels) usage_error(kernels_file.string() + " cannot be written");
  if (!fs::exists(folder / "libcudart.so.13")) usage_error("there is no libcudart.so.13 in " + folder.string());
  prepend("LD_LIBRARY_PATH", folder);
  auto status_file = (fs::temp_directory_path() / "vgpu-XXXXXX").string();
  const int descriptor = mkstemp(status_file.data());
  if (descriptor < 0) usage_error("no file can be made in " + fs::temp_directory_path().string());
  close(descriptor);
  setenv("VGPU_STATUS", status_file.c_str(), 1);

  std::vector<char*> words;
  for (auto& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  if (const int error = start(program, words.data())) {
    unlink(status_file.c_str());
    usage_error(program.string() + " cannot be started: " + std::strerror(error));
  }
  const int code = wait_for_child();

  bool used = false, errors = false;
  std::map<std::string, bool> launched;  // by symbol
  std::ifstream notes(status_file);
  for (std::string line; std::getline(notes, line);) {
    used |= line == "used";
    errors |= line == "errors";
    if (line.starts_with("has ")) launched.try_emplace(line.substr(4), false);
    if (line.starts_with("launched ")) launched[line.substr(9)] = true;
  }
  list_kernels(kernels, launched);
  unlink(status_file.c_str());
  if (!used) std::fputs("vgpu: the program made no CUDA call that reached the virtual GPU\n", stderr);
  return errors ? kErrorsFound : code;
}

int explain(const std::vector<std::string>& arguments) {
  if (arguments.size() > 1) usage_error("explain takes one code, such as E03");
  if (arguments.empty()) {
    for (const auto& page : vgpu::explain_pages()) {
      std::printf("%.*s  %.*s\n", int(page.code.size()), page.code.data(), int(vgpu::title_of(page.code).size()),
                  vgpu::title_of(page.code).data());
    }
    return 0;
  }
  const auto page = vgpu::explain_page(arguments[0]);
  if (page.empty()) usage_error("there is no code '" + arguments[0] + "'; vgpu explain lists them");
  std::fwrite(page.data(), 1, page.size(), stdout);
  return 0;
}

}  // namespace

int main(int count, char** values) {
  std::vector<std::string> arguments(values + 1, values + count);
  if (arguments.empty()) {
    std::fputs(kHelp, stderr);
    return kUsage;
  }
  const std::string verb = arguments[0];
  arguments.erase(arguments.begin());
  if (verb == "run") return run(std::move(arguments));
  if (verb == "explain") return explain(arguments);
  if (verb == "--help" || verb == "-h" || verb == "help") {
    std::fputs(kHelp, stdout);
    return 0;
  }
  usage_error("there is no '" + verb + "'; there are run and explain, and vgpu --help");
}
