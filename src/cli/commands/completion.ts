/** `completion`: prints a completion script for a shell, generated from the table of commands. */
import type { CommandDetails } from '../command.ts';
import type { CompletedCommand } from '../completion/model.ts';
import { completionScript, SHELL_NAMES, type ShellName } from '../completion/scripts.ts';

/** How to use the script of each shell. */
const USES: Record<ShellName, string> = {
  bash: 'completion bash > ~/.local/share/bash-completion/completions/llm-wasm-sandbox',
  zsh: 'completion zsh > ~/.zfunc/_llm-wasm-sandbox',
  fish: 'completion fish > ~/.config/fish/completions/llm-wasm-sandbox.fish',
};

/** `describe` returns the commands and options that are completed. */
export const completionCommand = (describe: () => Promise<readonly CompletedCommand[]>): CommandDetails => ({
  subcommands: SHELL_NAMES.map((shell) => ({
    name: shell,
    description: `Print the script for ${shell}`,
    examples: [USES[shell]],
    action: async () => void process.stdout.write(completionScript(shell, await describe())),
  })),
});
