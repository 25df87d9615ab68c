import assert from "node:assert/strict";
import { isOpenToOthers, openFileWarning } from "../../../src/core/files/file_access.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";

Deno.test("isOpenToOthers() refuses every right of group and others, save that root's group may read a shared secret", () => {
  const shared = { rootMayShareWithGroup: true };
  const [root, user] = [0, 1000];
  // mode, then whether it is open: for anything; for a shared secret that belongs to a user, and to root
  const cases: [number | null, boolean, boolean, boolean][] = [
    [0o100600, false, false, false],
    [0o100400, false, false, false],
    [0o100700, false, false, false],
    [0o100440, true, true, false],
    [0o100640, true, true, false],
    [0o100620, true, true, true],
    [0o100610, true, true, true],
    [0o100660, true, true, true],
    [0o100604, true, true, true],
    [0o100602, true, true, true],
    [0o100601, true, true, true],
    [0o100644, true, true, true],
    [null, false, false, false],
  ];
  for (const [mode, always, usersSecret, rootsSecret] of cases) {
    const name = mode?.toString(8) ?? "no modes";
    for (const uid of [root, user]) assert.equal(isOpenToOthers({ mode, uid }), always, name);
    assert.equal(isOpenToOthers({ mode, uid: user }, shared), usersSecret, name);
    assert.equal(isOpenToOthers({ mode, uid: root }, shared), rootsSecret, name);
  }
});

Deno.test("openFileWarning() warns with the command to run", async () => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/tokens.yaml`;
  assert.equal(await openFileWarning(path), undefined);
  await Deno.writeTextFile(path, "");
  const modes: [number, boolean][] = [[0o600, false], [0o400, false], [0o640, true], [0o604, true], [
    0o602,
    true,
  ]];
  for (const [mode, warns] of modes) {
    await Deno.chmod(path, mode);
    const warning = await openFileWarning(path);
    assert.equal(warning?.endsWith(`; run: chmod 600 ${path}`) ?? false, warns, mode.toString(8));
  }
  const odd = `${folder.path}/it's my file.yaml`;
  await Deno.writeTextFile(odd, "");
  await Deno.chmod(odd, 0o644);
  const command = (await openFileWarning(odd))?.split("run: ")[1] ?? "";
  assert.ok((await new Deno.Command("sh", { args: ["-c", command] }).output()).success);
  assert.equal(await openFileWarning(odd), undefined);
});
