// @ts-check
document.body.classList.add("scripted");
