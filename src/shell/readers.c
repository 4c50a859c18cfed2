/* readers.c - the table of programs that only read, each with its options that are known to be harmless, and the parser of their words.
 *
 * Constant tables: any thread. Called by reads.c.
 * Invariant: what is not in the table is unknown, and a person is asked: another option, an abbreviation of a long one, a word that bash may make
 * something else of. A value is skipped as the program skips it, so -- is a value where it stands for one. */
#include "shell/readers.h"

#define GLOB_TOO READER_ANY_GLOB
#define GLOB_TEXT (READER_ANY_GLOB | READER_LITERAL)
#define OWN_WORDS READER_OWN
#define STRICT_VALUES READER_STRICT

#define GREP_LETTERS "EFGPiyvwxcLlqsobHhnTUZzaIrRe:f:m:A:B:C:d:D:"
#define GREP_LONGS " --extended-regexp --fixed-strings --basic-regexp --perl-regexp --ignore-case --no-ignore-case --invert-match --word-regexp " \
    "--line-regexp --count --files-without-match --files-with-matches --quiet --silent --no-messages --only-matching --byte-offset --with-filename " \
    "--no-filename --line-number --initial-tab --null --null-data --text --recursive --dereference-recursive --line-buffered --regexp= --file= " \
    "--max-count= --label= --after-context= --before-context= --context= --binary-files= --devices= --directories= --exclude= --exclude-from= " \
    "--exclude-dir= --include= --color? --colour? "
#define SUM_LONGS " --binary --text --tag --zero "
#define RG_LONGS " --files --hidden --no-hidden --no-ignore --no-ignore-vcs --no-ignore-parent --json --ignore-case --smart-case --case-sensitive " \
    "--word-regexp --line-regexp --fixed-strings --count --count-matches --files-with-matches --files-without-match --line-number --no-line-number " \
    "--column --no-column --heading --no-heading --with-filename --no-filename --only-matching --invert-match --multiline --multiline-dotall --pcre2 " \
    "--stats --trim --type-list --null --follow --text --quiet --vimgrep --passthru --pretty --no-messages --one-file-system --no-config --max-count= " \
    "--max-depth= --max-columns= --max-filesize= --glob= --iglob= --type= --type-not= --context= --after-context= --before-context= --regexp= " \
    "--color= --sort= --sortr= --replace= --threads= --encoding= --context-separator= "
#define LS_LONGS " --all --almost-all --author --escape --ignore-backups --directory --file-type --full-time --group-directories-first --no-group " \
    "--human-readable --si --dereference --dereference-command-line --inode --kibibytes --numeric-uid-gid --literal --hide-control-chars " \
    "--show-control-chars --quote-name --reverse --recursive --size --context --zero --color? --classify? --hyperlink? --block-size= --format= --hide= " \
    "--indicator-style= --ignore= --quoting-style= --sort= --time= --time-style= --tabsize= --width= "
#define DIFF_LONGS " --normal --brief --report-identical-files --context? --unified? --side-by-side --suppress-common-lines --left-column --width= " \
    "--recursive --no-dereference --new-file --unidirectional-new-file --ignore-file-name-case --exclude= --exclude-from= --ignore-case " \
    "--ignore-tab-expansion --ignore-trailing-space --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines= --text " \
    "--strip-trailing-cr --expand-tabs --initial-tab --tabsize= --minimal --speed-large-files --color? --show-c-function --show-function-line= --label= "
#define SORT_LONGS " --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort --ignore-nonprinting --month-sort " \
    "--human-numeric-sort --numeric-sort --random-sort --random-source= --reverse --sort= --version-sort --check? --debug --key= --merge --stable " \
    "--field-separator= --unique --zero-terminated --parallel= "

static const program_reader readers[] = {               /* sorted by name */
    { "[",         "",   "",                                                                                          READER_ANY, OWN_WORDS },
    { "arch",      "",   "",                                                                                          0, 0 },
    { "base32",    "diw:", " --decode --ignore-garbage --wrap= ",                                                     1, READER_LITERAL },
    { "base64",    "diw:", " --decode --ignore-garbage --wrap= ",                                                     1, READER_LITERAL },
    { "basename",  "azs:", " --multiple --zero --suffix= ",                                                           READER_ANY, GLOB_TOO },
    { "cat",       "AbeEnstTuv", " --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting ",
      READER_ANY, GLOB_TEXT },
    { "cksum",     "",   "",                                                                                          READER_ANY, GLOB_TEXT },
    { "cmp",       "blsi:n:", " --print-bytes --verbose --quiet --silent --ignore-initial= --bytes= ",                4, 0 },
    { "column",    "txs:o:c:", " --table --separator= --output-separator= --output-width= --fillrows ",               READER_ANY, READER_LITERAL },
    { "comm",      "123z", " --check-order --nocheck-order --output-delimiter= --total --zero-terminated ",           2, 0 },
    { "cut",       "b:c:d:f:nsz", " --bytes= --characters= --delimiter= --fields= --complement --only-delimited --output-delimiter= --zero-terminated ",
      READER_ANY, READER_LITERAL },
    { "date",      "uRI::d:r:", " --utc --universal --rfc-email --iso-8601? --rfc-3339= --date= --reference= ",       1, OWN_WORDS },
    { "df",        "ahHiklPTvB:t:x:", " --all --human-readable --si --inodes --local --portability --print-type --total --block-size= --type= "
      "--exclude-type= --output? ",                                                                                   READER_ANY, 0 },
    { "diff",      "qscC:uU:eynrNPiEZbwBI:atTpF:dHx:X:W:", DIFF_LONGS,                                                READER_ANY, READER_DIGITS },
    { "dirname",   "z",  " --zero ",                                                                                  READER_ANY, GLOB_TOO },
    { "du",        "abchklmsSxLDHP0d:B:t:X:", " --all --apparent-size --bytes --total --human-readable --si --count-links --dereference "
      "--summarize --separate-dirs --one-file-system --null --inodes --max-depth= --block-size= --threshold= --exclude= --exclude-from= --time? "
      "--time-style= ",                                                                                               READER_ANY, GLOB_TOO },
    { "echo",      "",   "",                                                                                          READER_ANY, READER_ANY_WORDS },
    { "egrep",     GREP_LETTERS, GREP_LONGS,                                                                          READER_ANY, GLOB_TEXT | READER_DIGITS },
    { "false",     "",   "",                                                                                          READER_ANY, READER_ANY_WORDS },
    { "fd",        "HIuisgFaLp0qe:d:t:E:S:", " --hidden --no-ignore --no-ignore-vcs --unrestricted --case-sensitive --ignore-case --glob --fixed-strings "
      "--absolute-path --follow --full-path --print0 --quiet --extension= --max-depth= --min-depth= --type= --exclude= --size= --changed-within= "
      "--changed-before= --color= --max-results= ",                                                                   READER_ANY, STRICT_VALUES },
    { "fdfind",    "HIuisgFaLp0qe:d:t:E:S:", " --hidden --no-ignore --unrestricted --glob --absolute-path --follow --full-path --extension= --max-depth= "
      "--type= --exclude= ",                                                                                          READER_ANY, STRICT_VALUES },
    { "fgrep",     GREP_LETTERS, GREP_LONGS,                                                                          READER_ANY, GLOB_TEXT | READER_DIGITS },
    { "file",      "bEhiIkLnNr0F:e:", " --brief --mime --mime-type --mime-encoding --dereference --no-dereference --no-pad --extension --keep-going --raw "
      "--print0 --separator= --exclude= ",                                                                            READER_ANY, 0 },
    { "find",      "",   "",                                                                                          READER_ANY, OWN_WORDS },
    { "git",       "",   "",                                                                                          READER_ANY, OWN_WORDS },
    { "grep",      GREP_LETTERS, GREP_LONGS,                                                                          READER_ANY, GLOB_TEXT | READER_DIGITS },
    { "head",      "qvzn:c:", " --bytes= --lines= --quiet --silent --verbose --zero-terminated ",                     READER_ANY, GLOB_TEXT | READER_DIGITS },
    { "hexdump",   "bcCdovxn:s:", " --one-byte-octal --one-byte-char --canonical --two-bytes-decimal --two-bytes-octal --two-bytes-hex --no-squeezing "
      "--length= --skip= ",                                                                                           READER_ANY, 0 },
    { "hostname",  "",   "",                                                                                          0, 0 },
    { "id",        "aGgnruZz", " --group --groups --name --real --user --zero --context ",                            READER_ANY, 0 },
    { "join",      "a:e:ij:o:t:v:1:2:z", " --ignore-case --check-order --nocheck-order --header --zero-terminated ",  READER_ANY, 0 },
    { "jq",        "ncrRsCMaSje", " --null-input --compact-output --raw-output --raw-input --slurp --color-output --monochrome-output --ascii-output "
      "--sort-keys --join-output --exit-status --tab --unbuffered --stream --seq ",   READER_ANY, OWN_WORDS | STRICT_VALUES | READER_LITERAL },
    { "ls",        "aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1I:w:T:", LS_LONGS,                                            READER_ANY, GLOB_TOO },
    { "md5sum",    "btz", SUM_LONGS,                                                                                  READER_ANY, READER_LITERAL },
    { "nl",        "pb:d:f:h:i:l:n:s:v:w:", " --no-renumber --body-numbering= --section-delimiter= --footer-numbering= --header-numbering= "
      "--line-increment= --join-blank-lines= --number-format= --number-separator= --starting-line-number= --number-width= ", READER_ANY, GLOB_TEXT },
    { "nproc",     "",   " --all --ignore= ",                                                                         0, 0 },
    { "od",        "abcdfiloxsvA:j:N:t:w::S:", " --address-radix= --skip-bytes= --read-bytes= --format= --output-duplicates --width? --strings? --endian= ",
      READER_ANY, 0 },
    { "paste",     "d:sz", " --delimiters= --serial --zero-terminated ",                                              READER_ANY, READER_LITERAL },
    { "printf",    "",   "",                                                                                          READER_ANY, OWN_WORDS },
    { "pwd",       "LP", "",                                                                                          0, 0 },
    { "readlink",  "femnqsvz", " --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --silent --verbose --zero ",
      READER_ANY, 0 },
    { "realpath",  "eLmPqsz", " --canonicalize-existing --canonicalize-missing --logical --physical --quiet --relative-to= --relative-base= --strip "
      "--no-symlinks --zero ",                                                                                        READER_ANY, 0 },
    { "rev",       "",   "",                                                                                          READER_ANY, READER_LITERAL },
    { "rg",        "iSsvwxFnNlLcoHIqupPUah0e:A:B:C:g:t:T:m:M:r:d:j:E:", RG_LONGS,                                     READER_ANY, STRICT_VALUES },
    { "sed",       "nErsuz", " --quiet --silent --regexp-extended --separate --unbuffered --null-data ",              READER_ANY, OWN_WORDS },
    { "seq",       "wf:s:", " --equal-width --format= --separator= ",                                                 3, READER_DIGITS },
    { "sha1sum",   "btz", SUM_LONGS,                                                                                  READER_ANY, READER_LITERAL },
    { "sha224sum", "btz", SUM_LONGS,                                                                                  READER_ANY, READER_LITERAL },
    { "sha256sum", "btz", SUM_LONGS,                                                                                  READER_ANY, READER_LITERAL },
    { "sha384sum", "btz", SUM_LONGS,                                                                                  READER_ANY, READER_LITERAL },
    { "sha512sum", "btz", SUM_LONGS,                                                                                  READER_ANY, READER_LITERAL },
    { "sleep",     "",   "",                                                                                          READER_ANY, 0 },
    { "sort",      "bcCdfghiMmnrRsuVzk:t:", SORT_LONGS,                                                               READER_ANY, READER_LITERAL },
    { "stat",      "Lftc:", " --dereference --file-system --terse --format= --printf= --cached= ",                    READER_ANY, GLOB_TOO },
    { "strings",   "afwon:t:e:", " --all --bytes= --radix= --encoding= --print-file-name --include-all-whitespace ",  READER_ANY, OWN_WORDS },
    { "tac",       "brs:", " --before --regex --separator= ",                                                         READER_ANY, READER_LITERAL },
    { "tail",      "qvzn:c:", " --bytes= --lines= --quiet --silent --verbose --zero-terminated ",                     READER_ANY, GLOB_TEXT | READER_DIGITS },
    { "test",      "",   "",                                                                                          READER_ANY, OWN_WORDS },
    { "tr",        "cCdst", " --complement --delete --squeeze-repeats --truncate-set1 ",                              2, READER_LITERAL },
    { "tree",      "adfilpsugDhtrcvUFQNCnxL:P:I:", " --noreport --dirsfirst --prune --gitignore --du --si --ignore-case --matchdirs --inodes ",
      READER_ANY, STRICT_VALUES | READER_NEXT },
    { "true",      "",   "",                                                                                          READER_ANY, READER_ANY_WORDS },
    { "type",      "afptP", "",                                                                                       READER_ANY, 0 },
    { "uname",     "asnrvmpio", " --all --kernel-name --nodename --kernel-release --kernel-version --machine --processor --hardware-platform "
      "--operating-system ",                                                                                          0, 0 },
    { "uniq",      "cdDiuzf:s:w:", " --count --repeated --all-repeated? --group? --ignore-case --unique --zero-terminated --skip-fields= --skip-chars= "
      "--check-chars= ",                                                                                              1, 0 },
    { "uptime",    "ps", " --pretty --since ",                                                                        0, 0 },
    { "wc",        "clmLw", " --bytes --chars --lines --max-line-length --words --total= ",                           READER_ANY, GLOB_TEXT },
    { "which",     "a",  "",                                                                                          READER_ANY, 0 },
    { "whoami",    "",   "",                                                                                          0, 0 },
};

/* ---- git ------------------------------------------------------------------------------------------------------ */

#define CHANGE_LETTERS "pusRabwzWU:S:G:M::C::B::cmrt"
#define CHANGE_LONGS " --patch --no-patch --unified= --raw --patch-with-stat --stat? --numstat --shortstat --dirstat? --cumulative --summary --name-only " \
    "--name-status --color? --no-color --color-words? --word-diff? --word-diff-regex= --no-renames --find-renames? --find-copies? --find-copies-harder " \
    "--diff-filter= --pickaxe-all --pickaxe-regex --relative? --no-relative --text --ignore-space-change --ignore-all-space --ignore-blank-lines " \
    "--ignore-space-at-eol --ignore-cr-at-eol --inter-hunk-context= --function-context --exit-code --quiet --no-ext-diff --no-textconv --src-prefix= " \
    "--dst-prefix= --no-prefix --abbrev? --full-index --binary --minimal --patience --histogram --diff-algorithm= --compact-summary --check " \
    "--color-moved? --indent-heuristic --no-indent-heuristic --ignore-matching-lines= --line-prefix= "
#define LOG_LONGS "--oneline --graph --decorate? --no-decorate --all --branches? --tags? --remotes? --max-count= --skip= --since= " \
    "--until= --after= --before= " \
    "--author= --committer= --grep= --all-match --invert-grep --regexp-ignore-case --extended-regexp --fixed-strings --perl-regexp --merges --no-merges " \
    "--first-parent --reverse --follow --date= --pretty? --format= --abbrev-commit --no-abbrev-commit --left-right --cherry-pick --cherry-mark --cherry " \
    "--left-only --right-only --topo-order --date-order --author-date-order --boundary --simplify-by-decoration --full-history --ancestry-path " \
    "--source --log-size --not --walk-reflogs --no-notes --relative-date --parents --children --count --full-diff --root --dense --sparse " \
    "--encoding= --decorate-refs= --min-parents= --max-parents= --cc "
#define ENTRY_LONGS " --oneline --all --max-count= --date= --pretty? --format= --abbrev-commit --no-abbrev-commit "
#define LOG_LETTERS CHANGE_LETTERS "n:L:giEFP"
#define REFS_LONGS " --list --all --remotes --verbose --show-current --color? --no-color --column? --no-column --contains --no-contains --merged --no-merged " \
    "--points-at= --sort= --format= --abbrev? --no-abbrev --ignore-case "
#define GIT_VERB(name, letters, longs, most) { name, letters, longs, most, STRICT_VALUES }

static const program_reader git_verbs[] = {
    GIT_VERB("blame", "ltpfnsewcbL:M::C::", " --porcelain --line-porcelain --incremental --show-name --show-number --show-email --root --date= --reverse "
        "--first-parent --abbrev? --since= --color-lines --color-by-age ", READER_ANY),
    GIT_VERB("branch", "arv", REFS_LONGS, READER_ANY),
    GIT_VERB("cat-file", "tspe", " --batch? --batch-check? --batch-all-objects --buffer --follow-symlinks --unordered ", READER_ANY),
    GIT_VERB("check-ignore", "qvzn", " --quiet --verbose --non-matching --no-index --stdin ", READER_ANY),
    GIT_VERB("config", "lz", " --list --get --get-all --get-regexp --show-origin --show-scope --name-only --null --local --global --system --bool --int "
        "--path --includes ", READER_ANY),
    GIT_VERB("count-objects", "vH", " --verbose --human-readable ", 0),
    GIT_VERB("describe", "", " --all --tags --contains --long --always --exact-match --match= --exclude= --abbrev? --candidates= --first-parent ", READER_ANY),
    { "diff", CHANGE_LETTERS, CHANGE_LONGS "--cached --staged --merge-base --no-index --ours --theirs --base ", READER_ANY, STRICT_VALUES | READER_DIGITS },
    GIT_VERB("diff-files", CHANGE_LETTERS, CHANGE_LONGS, READER_ANY),
    GIT_VERB("diff-index", CHANGE_LETTERS, CHANGE_LONGS "--cached ", READER_ANY),
    GIT_VERB("diff-tree", CHANGE_LETTERS, CHANGE_LONGS "--root --stdin --no-commit-id --cc ", READER_ANY),
    GIT_VERB("for-each-ref", "", " --count= --sort= --format= --points-at= --merged? --no-merged? --contains? --no-contains? "
        "--ignore-case --color? ", READER_ANY),
    { "grep", "nivwhHlLcqoEFGPpWazIrA:B:C:m:e:f:", " --cached --no-index --untracked --text --ignore-case --word-regexp --invert-match --full-name "
      "--extended-regexp --basic-regexp --fixed-strings --perl-regexp --line-number --column --files-with-matches --name-only --files-without-match --null "
      "--only-matching --count --color? --no-color --break --heading --show-function --context= --after-context= --before-context= --function-context "
      "--max-count= --and --or --not --all-match --quiet --max-depth= --recursive --no-recursive --exclude-standard --no-exclude-standard --threads= "
      "--no-textconv ", READER_ANY, STRICT_VALUES | READER_DIGITS },
    { "log", LOG_LETTERS, CHANGE_LONGS LOG_LONGS, READER_ANY, STRICT_VALUES | READER_DIGITS },
    GIT_VERB("ls-files", "cdmoiskutvzx:X:", " --cached --deleted --modified --others --ignored --stage --killed --directory --no-empty-directory --unmerged "
        "--exclude= --exclude-from= --exclude-per-directory= --exclude-standard --error-unmatch --full-name --abbrev? --eol "
        "--deduplicate --format= ", READER_ANY),
    GIT_VERB("ls-tree", "rtdlz", " --name-only --name-status --long --full-name --full-tree --abbrev? --object-only --format= ", READER_ANY),
    GIT_VERB("merge-base", "a", " --all --octopus --is-ancestor --fork-point --independent ", READER_ANY),
    GIT_VERB("name-rev", "", " --tags --refs= --all --name-only --always --no-undefined ", READER_ANY),
    { "reflog", "n:", ENTRY_LONGS, 1, STRICT_VALUES | READER_DIGITS },
    GIT_VERB("remote", "", " --all --push ", 1),
    { "rev-list", "n:iEFP", ENTRY_LONGS "--branches? --tags? --remotes? --skip= --since= --until= --after= --before= --author= --grep= --merges --no-merges "
      "--first-parent --reverse --left-right --count --objects --not --topo-order --date-order --parents "
        "--children ", READER_ANY, STRICT_VALUES | READER_DIGITS },
    GIT_VERB("rev-parse", "q", " --show-toplevel --abbrev-ref? --short? --verify --quiet --symbolic --symbolic-full-name --git-dir --absolute-git-dir "
        "--git-common-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository --show-prefix "
        "--show-cdup --show-object-format "
        "--all --branches? --tags? --remotes? --not --revs-only --no-revs --flags --no-flags --git-path= ", READER_ANY),
    { "shortlog", "nsec", " --numbered --summary --email --committer --group= --all --no-merges --since= --until= --author= --format= ", READER_ANY,
      STRICT_VALUES | READER_DIGITS },
    { "show", LOG_LETTERS, CHANGE_LONGS LOG_LONGS, READER_ANY, STRICT_VALUES | READER_DIGITS },
    GIT_VERB("show-ref", "dsq", " --head --heads --tags --dereference --hash? --abbrev? --verify --quiet ", READER_ANY),
    { "stash", "n:", ENTRY_LONGS, 0, STRICT_VALUES | READER_DIGITS },
    GIT_VERB("status", "sbzu::", " --short --branch --show-stash --porcelain? --long --untracked-files? --ignored? --null --column? --no-column --ahead-behind "
        "--no-ahead-behind --renames --no-renames --find-renames? ", READER_ANY),
    GIT_VERB("symbolic-ref", "q", " --short --quiet ", 1),
    GIT_VERB("tag", "ln::", " --list --contains --no-contains --merged --no-merged --points-at= --sort= --format= --column? "
        "--no-column --color? --ignore-case ",
        READER_ANY),
    GIT_VERB("version", "", " --build-options ", 0),
    GIT_VERB("worktree", "vz", " --porcelain --verbose ", 0),
};

/* ---- looking up ------------------------------------------------------------------------------------------------- */

static const program_reader *reader_row(const program_reader *rows, size_t count, const shell_word *w)
{
    size_t low = 0, high = count;

    if (!word_sure(w))
        return NULL;
    while (low < high) {
        size_t mid = low + (high - low) / 2, n = strlen(rows[mid].name);
        int order = memcmp(w->text, rows[mid].name, n < w->size ? n : w->size);

        if (order == 0 && n == w->size)
            return &rows[mid];
        if (order > 0 || (order == 0 && w->size > n))
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

const program_reader *reader_named(const shell_word *w) { return reader_row(readers, sizeof readers / sizeof *readers, w); }

const program_reader *reader_of_verb(const shell_word *w) { return reader_row(git_verbs, sizeof git_verbs / sizeof *git_verbs, w); }

const program_reader *reader_at(size_t i, bool of_git)
{
    if (of_git)
        return i < sizeof git_verbs / sizeof *git_verbs ? &git_verbs[i] : NULL;
    return i < sizeof readers / sizeof *readers ? &readers[i] : NULL;
}

bool word_has(const shell_word *w, const char *text)
{
    size_t n = strlen(text);

    for (size_t i = 0; i + n <= w->size; i++)
        if (memcmp(w->text + i, text, n) == 0)
            return true;
    return false;
}

/* ---- options ------------------------------------------------------------------------------------------------------ */

/* The number of words of the option that begins with `w`: 1, or 2 with a value in the next word; 0: it is not known. */
static uint32_t long_words(const program_reader *r, const shell_word *w)
{
    const char *eq = memchr(w->text, '=', w->size);
    size_t n = eq != NULL ? (size_t)(eq - w->text) : w->size;

    if (!word_sure(w) && (eq == NULL || n >= w->known || (w->flags & (WORD_UNKNOWN | WORD_BRACE)) != 0))
        return 0;       /* --include=*.c stays one option, whatever the files are */
    for (const char *at = r->longs; (at = strstr(at, "--")) != NULL; at += 2) {
        if (strncmp(at, w->text, n) != 0 || at[-1] != ' ')
            continue;
        if (at[n] == ' ')
            return eq == NULL;
        if (at[n] == '=')
            return eq != NULL ? 1 : 2;
        if (at[n] == '?')
            return 1;
    }
    return 0;
}

static bool all_digits(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] < '0' || p[i] > '9')
            return false;
    return n > 0;
}

static uint32_t letter_words(const program_reader *r, const shell_word *w)
{
    if (!word_sure(w))
        return 0;
    if ((r->traits & READER_DIGITS) != 0 && all_digits(w->text + 1, w->size - 1))
        return 1;
    for (size_t i = 1; i < w->size; i++) {
        const char *at = w->text[i] != ':' && w->text[i] != '\0' ? strchr(r->letters, w->text[i]) : NULL;
        const bool last = i + 1 == w->size;

        if (at == NULL)
            return 0;
        if (at[1] == ':' && at[2] == ':')
            return 1;
        if (at[1] == ':')
            return last ? 2 : (r->traits & READER_NEXT) == 0;
    }
    return 1;
}

static bool value_known(const program_reader *r, const shell_word *w)
{
    return word_sure(w) && ((r->traits & READER_STRICT) == 0 || w->size == 0 || w->text[0] != '-');
}

static bool operand_known(const program_reader *r, const shell_word *w, bool ended)
{
    if (word_sure(w))
        return true;
    return (w->flags & (WORD_UNKNOWN | WORD_BRACE)) == 0 && r->most == READER_ANY &&
           (ended || w->known > 0 || (r->traits & READER_ANY_GLOB) != 0);
}

bool reader_words(const program_reader *r, const shell_word *w, uint32_t n, operand_list *out)
{
    bool ended = false;

    *out = (operand_list){0};
    for (uint32_t i = 1; i < n; i++) {
        const shell_word *x = &w[i];
        uint32_t words;

        if (ended || x->size < 2 || x->text[0] != '-') {
            if (!operand_known(r, x, ended) || out->count == r->most)
                return false;
            if (out->count < sizeof out->first / sizeof *out->first)
                out->first[out->count] = i;
            out->count += out->count < READER_ANY - 1;
            continue;
        }
        if (word_is(x, "--")) {
            ended = true;
            continue;
        }
        words = x->text[1] == '-' ? long_words(r, x) : letter_words(r, x);
        if (words == 0 || (words == 2 && (i + 1 == n || !value_known(r, &w[i + 1]))))
            return false;
        if (out->count > 0 && r->most != READER_ANY)
            return false;       /* an operand where options end at the first one */
        i += words - 1;
    }
    return true;
}
