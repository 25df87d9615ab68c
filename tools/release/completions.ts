import { listSettings } from "../../src/config/mod.ts";
import { type Flag, flagGroups } from "../../src/cli/flags.ts";

/** A flag as shells complete it. */
interface CompletedFlag {
  readonly name: string;
  /** One line without its details. */
  readonly help: string;
  /** Absent for a switch. */
  readonly value?: {
    readonly placeholder: string;
    readonly isFile: boolean;
    readonly choices: readonly string[];
  };
}

const settings = new Map(listSettings().map((setting) => [setting.name, setting]));
const flags = flagGroups.flatMap((group) => group.flags.map(completedFlag));
const withFile = flags.filter(({ value }) => value?.isFile);
const withChoices = flags.filter(({ value }) => value !== undefined && value.choices.length > 0);
const withOther = flags.filter(({ value }) => value?.isFile === false && value.choices.length === 0);

function completedFlag(flag: Flag): CompletedFlag {
  const setting = "setting" in flag ? settings.get(flag.setting) : undefined;
  const help = (flag.help ?? setting?.description ?? "").split(/[;.:] /)[0] ?? "";
  const { flag: name, placeholder } = flag;
  if (placeholder === undefined) return { name, help };
  return {
    name,
    help,
    value: { placeholder, isFile: placeholder === "FILE", choices: setting?.choices ?? [] },
  };
}

/** A bash script that completes the command's flags and their values; bash 3.2, which macOS has, reads it too. */
export function bashCompletion(command: string): string {
  const names = (some: readonly CompletedFlag[]) => some.map(({ name }) => `-${name}`);
  const choices = withChoices.map(({ name, value }) =>
    `    -${name})
      COMPREPLY=($(compgen -W "${value?.choices.join(" ")}" -- "$word"))
      return
      ;;
`
  );
  return `# bash completion of ${command}

_${command}_files() {
  local IFS=$'\\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -f -- "$1"))
}

_${command}() {
  local word=\${COMP_WORDS[COMP_CWORD]} flag=\${COMP_WORDS[COMP_CWORD - 1]} dash= given
  COMPREPLY=()
  # readline splits -flag=value at its sign
  if [[ $word == = ]]; then
    word=
  elif [[ $flag == = ]]; then
    flag=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  [[ $flag == --* ]] && flag=\${flag#-}
  case $flag in
    ${names(withFile).join(" | ")})
      _${command}_files "$word"
      return
      ;;
${choices.join("")}    ${names(withOther).join(" | ")})
      return
      ;;
  esac
  if [[ $word == -* ]]; then
    [[ $word == --* ]] && dash=-
    COMPREPLY=($(compgen -P "$dash" -W "${names(flags).join(" ")}" -- "\${word#"$dash"}"))
    return
  fi
  for given in "\${COMP_WORDS[@]}"; do
    [[ $given == -ingest || $given == --ingest ]] && _${command}_files "$word"
  done
}

complete -F _${command} ${command}
`;
}

/** A zsh function, to stand as `_COMMAND` in a folder of `fpath`. */
export function zshCompletion(command: string): string {
  const escape = (text: string) => text.replace(/[\\[\]:]/g, "\\$&").replaceAll("'", "'\\''");
  const specs = flags.map(({ name, help, value }) => {
    const head = `-${name}${value === undefined ? "" : "="}[${escape(help)}]`;
    if (value === undefined) return `'${head}'`;
    const action = value.isFile ? "_files" : value.choices.length === 0 ? "" : `(${value.choices.join(" ")})`;
    return `'${head}:${escape(value.placeholder)}:${action}'`;
  });
  return `#compdef ${command}

_arguments \\
${[...specs, "'*:file:_files'"].map((spec) => `  ${spec}`).join(" \\\n")}
`;
}

/** A fish script. */
export function fishCompletion(command: string): string {
  const quote = (text: string) => `'${text.replace(/[\\']/g, "\\$&")}'`;
  const lines = flags.map(({ name, help, value }) => {
    const argument = value === undefined
      ? ""
      : value.isFile
      ? " -r -F"
      : value.choices.length === 0
      ? " -x"
      : ` -x -a ${quote(value.choices.join(" "))}`;
    return `complete -c ${command} -o ${name}${argument} -d ${quote(help)}`;
  });
  return `# fish completion of ${command}
complete -c ${command} -n 'not string match -qr -- "^--?ingest" (commandline -opc)' -f
${lines.join("\n")}
`;
}
